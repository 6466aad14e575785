// The JavaScript program's half of contract.md: options, records, events, the command loop.

import readline from 'node:readline'

const DEFAULTS = {
  produce: { partition: -1, count: 10, prefix: 'p', codec: 'none', acks: 'all', idempotent: 0, timestamp: -1 },
  consume: { partition: 0, from: 'earliest', count: 10, timeoutMs: 10_000, isolation: 'read_committed' },
  drain: { partitions: 1, count: 10, timeoutMs: 30_000 },
  group: {
    assignor: 'range', commit: 'none', from: 'earliest', count: 0, idleMs: 0, timeoutMs: 60_000,
    sessionMs: 6_000, metadataMs: 500,
  },
  transact: { timeoutMs: 60_000 },
  transform: { batch: 7, count: 10, timeoutMs: 30_000 },
}

function parse(words) {
  const defaults = DEFAULTS[words[0]]
  if (!defaults) throw new Error(`unknown command ${words[0]}`)
  const options = { ...defaults }
  for (let i = 1; i < words.length; i += 2) {
    const name = words[i].slice(2).replace(/-(.)/g, (_, letter) => letter.toUpperCase())
    options[name] = typeof defaults[name] === 'number' ? Number(words[i + 1]) : words[i + 1]
  }
  return options
}

export function recordAt(prefix, index) {
  const key = index % 5 === 4 ? null : Buffer.from(`${prefix}-key-${index}`)
  const value = index % 10 === 6 ? null : Buffer.concat([
    Buffer.from(`${prefix}-value-${index}-`),
    Buffer.from([index % 256, 255, 0]),
    Buffer.alloc((index * 37) % 500, 'x'),
  ])
  const headers = index % 2 ? {} : {
    index: [Buffer.from(String(index)), Buffer.from('again')],
    binary: Buffer.from([0, 255, index % 256]),
  }
  return { key, value, headers }
}

export function emit(event, fields = {}) {
  process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
}

export function emitRecord(topic, partition, message) {
  const headers = Object.entries(message.headers ?? {}).flatMap(([name, value]) =>
    [value].flat().map(single => [name, base64(single)]))
  emit('record', {
    topic, partition, offset: Number(message.offset), timestamp: Number(message.timestamp),
    key: base64(message.key), value: base64(message.value), headers,
  })
}

export function emitDrained(partition, message) {
  emit('drained', { partition, offset: Number(message.offset), size: message.value.length })
}

function base64(bytes) {
  return bytes === null || bytes === undefined ? null : bytes.toString('base64')
}

export const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

// Lines of stdin and SIGTERM as one queue; null is the end of either.
class Control {
  #lines = []
  #waiting = null

  constructor(endOfInputLeaves) {
    const input = readline.createInterface({ input: process.stdin })
    input.on('line', line => this.#push(line.trim()))
    if (endOfInputLeaves) input.on('close', () => this.#push(null))
    process.on('SIGTERM', () => this.#push(null))
  }

  #push(line) {
    this.#lines.push(line)
    this.#waiting?.()
  }

  async next() {
    while (this.#lines.length === 0) await new Promise(resolve => { this.#waiting = resolve })
    return this.#lines[0] === null ? null : this.#lines.shift()
  }

  // Lines that have arrived; the end is told as "leave" and stays for next().
  pending() {
    const end = this.#lines.indexOf(null)
    return end < 0 ? this.#lines.splice(0) : [...this.#lines.splice(0, end), 'leave']
  }
}

async function run(words, program, control) {
  try {
    const options = parse(words)
    await program[words[0]](options, control)
    emit('done')
  } catch (error) {
    emit('error', { message: String(error.stack ?? error) })
  }
}

export async function main(program) {
  const words = process.argv.slice(2)
  const batch = words[0] === 'batch'
  const control = new Control(batch)
  if (!batch) {
    await run(words, program, control)
  } else {
    for (let line = await control.next(); line !== null; line = await control.next()) {
      await run(line.split(/\s+/), program, control)
    }
  }
  process.exit(0)
}
