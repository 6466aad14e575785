// The group command: a kafkajs consumer that prints what happens to it.

import kafkajs from 'kafkajs'
import { emit, emitRecord, pause } from './contract.mjs'

const { PartitionAssigners } = kafkajs

// kafkajs calls its assigner RoundRobinAssigner; under Kafka's name it can share a group.
function assigner(name) {
  if (name !== 'roundrobin') throw new Error(`kafkajs has no assignor ${name}`)
  return context => ({ ...PartitionAssigners.roundRobin(context), name })
}

class Member {
  #options
  #consumer
  #held = []
  #read = new Map()
  #count = 0
  #started = Date.now()
  #lastRecord = Date.now()
  #leaving = false

  constructor(kafka, options) {
    this.#options = options
    this.#consumer = kafka.consumer({
      groupId: options.group,
      partitionAssigners: [assigner(options.assignor)],
      sessionTimeout: options.sessionMs,
      heartbeatInterval: 100,
      metadataMaxAge: options.metadataMs,
      maxWaitTimeInMs: 100,
      retry: { initialRetryTime: 50 },
    })
  }

  async start() {
    const { GROUP_JOIN, REBALANCING } = this.#consumer.events
    this.#consumer.on(REBALANCING, () => this.#revoke())
    this.#consumer.on(GROUP_JOIN, ({ payload }) => this.#assign(payload.memberAssignment))
    await this.#consumer.connect()
    const { topic, from, commit } = this.#options
    const topics = topic.startsWith('^') ? [new RegExp(topic)] : topic.split(',')
    await this.#consumer.subscribe({ topics, fromBeginning: from === 'earliest' })
    await this.#consumer.run({
      autoCommit: commit === 'auto',
      autoCommitInterval: 200,
      eachBatch: payload => this.#onBatch(payload),
    })
  }

  #revoke() {
    if (this.#held.length > 0) emit('revoked', { partitions: this.#held })
    this.#held = []
  }

  #assign(assignment) {
    this.#revoke()
    this.#held = Object.entries(assignment).flatMap(([topic, numbers]) =>
      numbers.map(number => [topic, number]))
    emit('assigned', { partitions: this.#held })
  }

  async #onBatch({ batch, resolveOffset }) {
    const { topic, partition } = batch
    for (const message of batch.messages) {
      emitRecord(topic, partition, message)
      resolveOffset(message.offset)
      this.#count += 1
    }
    this.#lastRecord = Date.now()
    const offset = String(Number(batch.lastOffset()) + 1)
    this.#read.set(`${topic} ${partition}`, { topic, partition, offset })
    if (this.#options.commit === 'sync') await this.#commit([{ topic, partition, offset }])
    if (this.#options.commit === 'async') this.#commit([{ topic, partition, offset }])
  }

  async #commit(positions) {
    try {
      await this.#consumer.commitOffsets(positions)
      const offsets = positions.map(at => [at.topic, at.partition, Number(at.offset)])
      emit('committed', { offsets })
    } catch (error) {
      emit('commit_failed', { message: String(error) })
    }
  }

  isOver() {
    const { count, idleMs, timeoutMs } = this.#options
    const reached = (limit, used) => limit > 0 && used >= limit
    return this.#leaving || reached(count, this.#count)
      || reached(idleMs, Date.now() - this.#lastRecord) || reached(timeoutMs, Date.now() - this.#started)
  }

  async apply(line) {
    const [name, topic, number, offset] = line.split(/\s+/)
    const partition = Number(number)
    if (name === 'commit') await this.#commit([...this.#read.values()])
    else if (name === 'leave') this.#leaving = true
    else if (name === 'seek') this.#consumer.seek({ topic, partition, offset })
    else if (name === 'pause') this.#consumer.pause([{ topic, partitions: [partition] }])
    else if (name === 'resume') this.#consumer.resume([{ topic, partitions: [partition] }])
    else throw new Error(`unknown command ${line}`)
    emit('applied', { command: line })
  }

  close() {
    return this.#consumer.disconnect()
  }
}

export async function group(kafka, options, control) {
  const member = new Member(kafka, options)
  try {
    await member.start()
    while (!member.isOver()) {
      for (const line of control.pending()) await member.apply(line)
      await pause(5)
    }
  } finally {
    await member.close()
  }
}
