// A Kafka broker for tests in Node. Copy this file into your project; it has no dependencies, and needs
// `barnabas` on the path (pip install barnabas) or its place in the environment variable BARNABAS.
//
//   const broker = await startBarnabas()
//   after(() => broker.stop())
//   new Kafka({ brokers: [broker.bootstrapServers] })
//
// The broker ends with the process, however that ends: its standard input does.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const PATIENCE_MS = 10_000
const AFTER = [/^listening on (\S+)/, /^control on (\S+)/]

// Starts a broker; settings are Kafka's, by name.
export async function startBarnabas(settings = {}) {
  const program = process.env.BARNABAS ?? 'barnabas'
  const given = Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  const child = spawn(program, ['start', '--test', ...given], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => {}) // of a broker that has died, which `stop` finds out
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const failed = once(child, 'error').then(([error]) => { throw error })
  const found = []
  for (const expected of AFTER) {
    const { value } = await Promise.race([lines.next(), failed])
    const match = expected.exec(value)
    if (!match) throw new Error(`barnabas did not start: ${value}`)
    found.push(match[1])
  }
  failed.catch(() => {})
  return new Barnabas(child, ...found)
}

class Barnabas {
  #child
  #control

  constructor(child, bootstrapServers, control) {
    this.#child = child
    this.#control = control
    this.bootstrapServers = bootstrapServers
  }

  // Gives a command of the control, without /control in the path, and returns its answer.
  async ask(method, path, fields) {
    const answer = await fetch(`${this.#control}/control${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: fields && JSON.stringify(fields),
    })
    const found = await answer.json()
    if (!answer.ok) throw new Error(found.error)
    return found
  }

  // Returns when the topic has leaders.
  createTopic(name, partitions = 1) {
    return this.ask('POST', '/topics', { name, partitions })
  }

  // Deletes all topics and groups, and takes all faults back.
  clear() {
    return this.ask('POST', '/clear')
  }

  // Lets time pass at once: '7 days', '90 s'.
  advance(duration) {
    return this.ask('POST', '/clock/advance', { duration })
  }

  // Stops the broker as a crash would; `start` brings it back on the same port.
  kill() {
    return this.ask('POST', '/broker/kill')
  }

  start() {
    return this.ask('POST', '/broker/start')
  }

  // Lets something go wrong: action, api, topic, partition, client_id, skip, times, error, ...
  async addFault(fault) {
    const path = `/faults/${(await this.ask('POST', '/faults', fault)).id}`
    return {
      hits: async () => (await this.ask('GET', path)).hits,
      remove: () => this.ask('DELETE', path),
    }
  }

  // What was asked, with its answers: requests('OFFSET_COMMIT').
  async requests(api) {
    return (await this.ask('GET', `/requests?api=${api}`)).requests
  }

  // Ends the broker; its temporary folder goes along. One that hangs is killed.
  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    const late = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS)
    this.#child.stdin.end()
    await ended
    clearTimeout(late)
  }
}
