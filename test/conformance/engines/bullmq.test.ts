/** The conformance suite on the engine on BullMQ. */
import { afterAll, beforeAll } from 'vitest'
import { RedisServer } from '../../redis/server.ts'
import { newStoreId, openEngine } from './bullmq-engines.ts'
import { exerciseEngine } from './engine.suite.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await RedisServer.start()
})
afterAll(() => redis.stop())

exerciseEngine('bullmq', async () => openEngine(redis.url, newStoreId()))
