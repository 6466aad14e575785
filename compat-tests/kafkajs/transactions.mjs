// The transact and transform commands: a transactional producer, alone or with a group member.

import { emit, pause, recordAt } from './contract.mjs'

async function transactionalProducer(kafka, options, transactionTimeout) {
  const producer = kafka.producer({
    transactionalId: options.transactionalId, maxInFlightRequests: 1, idempotent: true, transactionTimeout,
  })
  await producer.connect()
  return producer
}

// kafkajs asks for the producer id with the first transaction: `init` begins it, `begin` finds it.
class Transactor {
  #producer
  #transaction = null

  constructor(producer) {
    this.#producer = producer
  }

  async init() {
    this.#transaction = await this.#producer.transaction()
  }

  async begin() {
    this.#transaction ??= await this.#producer.transaction()
  }

  async send(topic, partition, count, prefix) {
    const messages = Array.from({ length: Number(count) }, (_, index) =>
      ({ ...recordAt(prefix, index), partition: Number(partition) }))
    await this.#transaction.send({ topic, messages })
  }

  async commit() {
    await this.#transaction.commit()
    this.#transaction = null
  }

  async abort() {
    await this.#transaction.abort()
    this.#transaction = null
  }
}

export async function transact(kafka, options, control) {
  const producer = await transactionalProducer(kafka, options, options.timeoutMs)
  const transactor = new Transactor(producer)
  for (let line = await control.next(); line !== null && line !== 'leave'; line = await control.next()) {
    const [name, ...words] = line.split(' ')
    try {
      await transactor[name](...words)
      emit('applied', { command: line })
    } catch (error) {
      emit('refused', { command: line, message: String(error) })
    }
  }
  await producer.disconnect()
}

// kafkajs reads in a callback, batch by batch; each is taken apart into transactions.
export async function transform(kafka, options) {
  const producer = await transactionalProducer(kafka, options, 60_000)
  const consumer = kafka.consumer({ groupId: options.group, maxWaitTimeInMs: 100, readUncommitted: false })
  const state = { left: options.count, first: true, failure: null }
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, isRunning, isStale }) => {
      const messages = batch.messages.slice(0, options.batch)
      if (state.left <= 0 || messages.length === 0 || !isRunning() || isStale()) return
      try {
        await transformBatch(producer, consumer, options, batch, messages, state)
      } catch (error) {
        state.failure = error
      }
    },
  })
  const deadline = Date.now() + options.timeoutMs
  while (state.left > 0 && !state.failure && Date.now() < deadline) await pause(5)
  await consumer.disconnect()
  await producer.disconnect()
  if (state.failure) throw state.failure
  if (state.left > 0) throw new Error(`${state.left} records are left`)
}

async function transformBatch(producer, consumer, options, { topic, partition }, messages, state) {
  const offset = String(Number(messages.at(-1).offset) + 1)
  const transaction = await producer.transaction()
  await transaction.send({
    topic: options.to,
    messages: messages.map(({ key, value, headers }) => ({ key, value, headers, partition })),
  })
  const topics = [{ topic, partitions: [{ partition, offset }] }]
  await transaction.sendOffsets({ consumerGroupId: options.group, topics })
  if (state.first) {
    state.first = false
    await transaction.abort()
    emit('aborted', { count: messages.length })
    consumer.seek({ topic, partition, offset: messages[0].offset })
    return
  }
  await transaction.commit()
  emit('committed', { offsets: [[topic, partition, Number(offset)]] })
  state.left -= messages.length
  consumer.seek({ topic, partition, offset })
}
