// A broker under test, driven over HTTP: what a project of another language needs, whole.

const url = process.env.BARNABAS_CONTROL

export async function ask(method, path, fields) {
  const answer = await fetch(`${url}/control${path}`, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: fields && JSON.stringify(fields),
  })
  const body = await answer.json()
  if (!answer.ok) throw new Error(body.error)
  return body
}

export const addFault = fault => ask('POST', '/faults', fault)
export const hitsOf = async fault => (await ask('GET', `/faults/${fault.id}`)).hits
export const advance = duration => ask('POST', '/clock/advance', { duration })
export const requestsOf = async (api, query = '') =>
  (await ask('GET', `/requests?api=${api}${query}`)).requests
