// kafkajs under the command contract (contract.md).
//
// kafkajs reads as a group member only: `consume` joins a group of its own and seeks.

import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'
import { installCodecs, TYPES } from './codecs.mjs'
import { emit, emitDrained, emitRecord, main, pause, recordAt } from './contract.mjs'
import { group } from './member.mjs'
import { transact, transform } from './transactions.mjs'

const { Kafka, logLevel, Partitioners } = kafkajs
const ACKS = { 0: 0, 1: 1, all: -1 }

export function connect(options) {
  return new Kafka({
    clientId: 'kafkajs',
    brokers: [options.bootstrap],
    logLevel: logLevel.ERROR,
    retry: { initialRetryTime: 50 },
  })
}

// A partitioner that remembers what it answered: `send` does not tell it.
function rememberingPartitioner(chosen) {
  return () => {
    const choose = Partitioners.DefaultPartitioner()
    return question => {
      const partition = choose(question)
      chosen.set(question.message, partition)
      return partition
    }
  }
}

async function produce(options) {
  const chosen = new Map()
  const producer = connect(options).producer({
    idempotent: options.idempotent === 1,
    maxInFlightRequests: options.idempotent === 1 ? 1 : undefined,
    createPartitioner: rememberingPartitioner(chosen),
  })
  await producer.connect()
  const messages = Array.from({ length: options.count }, (_, index) => message(options, index))
  const answers = await producer.send({
    topic: options.topic, acks: ACKS[options.acks], compression: TYPES[options.codec], messages,
  })
  await producer.disconnect()
  emitAcked(options, messages, chosen, answers)
}

function message(options, index) {
  const sent = recordAt(options.prefix, index)
  if (options.partition >= 0) sent.partition = options.partition
  if (options.timestamp >= 0) sent.timestamp = String(options.timestamp + index)
  return sent
}

function emitAcked(options, messages, chosen, answers) {
  const next = new Map(answers.map(answer => [answer.partition, Number(answer.baseOffset)]))
  messages.forEach((sent, index) => {
    const partition = sent.partition ?? chosen.get(sent)
    const offset = options.acks === '0' ? -1 : next.get(partition)
    next.set(partition, offset + 1)
    emit('acked', { index, partition, offset })
  })
}

async function consume(options) {
  const { topic, partition } = options
  const first = options.from === 'earliest' ? 0 : Number(options.from)
  let left = options.count
  let next = first
  const consumer = connect(options).consumer({
    groupId: randomUUID(), maxWaitTimeInMs: 100, readUncommitted: options.isolation === 'read_uncommitted',
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition: from, message }) => {
      const offset = Number(message.offset)
      if (from !== partition || offset < next || left === 0) return
      next = offset + 1
      left -= 1
      emitRecord(topic, from, message)
    },
  })
  if (first > 0) consumer.seek({ topic, partition, offset: String(first) })
  const deadline = Date.now() + options.timeoutMs
  while (left > 0 && Date.now() < deadline) await pause(5)
  await consumer.disconnect()
}

async function drain(options) {
  let left = options.count
  const consumer = connect(options).consumer({ groupId: randomUUID() })
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      if (left > 0) emitDrained(partition, message)
      left -= 1
    },
  })
  const deadline = Date.now() + options.timeoutMs
  while (left > 0 && Date.now() < deadline) await pause(5)
  await consumer.disconnect()
}

await installCodecs()
await main({
  produce, consume, drain,
  group: (options, control) => group(connect(options), options, control),
  transact: (options, control) => transact(connect(options), options, control),
  transform: options => transform(connect(options), options),
})
