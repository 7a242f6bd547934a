/**
 * Goal: a test does to its Redis what it likes, and nothing of it is left behind.
 * Method: real servers, one of them in a process that is killed with SIGKILL.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { RedisServer } from './server.ts'

async function refusesConnections(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}

it('it stops, and starts empty on the same port', async () => {
  const redis = await RedisServer.start({ 'maxmemory-policy': 'allkeys-lru' })
  await redis.run('SET', 'a', '1')
  await redis.stop()
  expect(await refusesConnections(redis.port)).toBe(true)
  await redis.startAgain()
  expect(await redis.run('GET', 'a')).toBeNull()
  const policy = await redis.run('CONFIG', 'GET', 'maxmemory-policy')
  expect(policy).toEqual(['maxmemory-policy', 'allkeys-lru'])
  await redis.stop()
})

it('it answers nothing while it is frozen', async () => {
  const redis = await RedisServer.start()
  redis.freeze()
  let answered = false
  const answer = redis.run('PING').finally(() => (answered = true))
  await pause(200)
  expect(answered).toBe(false)
  redis.unfreeze()
  expect(await answer).toBe('PONG')
  await redis.stop()
})

it('it can be stopped while it is frozen', async () => {
  const redis = await RedisServer.start()
  redis.freeze()
  await redis.stop()
  expect(await refusesConnections(redis.port)).toBe(true)
})

it('a server that cannot start says why', async () => {
  await expect(RedisServer.start({ maxmemory: 'much' })).rejects.toThrow(/maxmemory/)
})

it.each([
  ['is killed', 'process.stdin.resume()'],
  ['ends', ''],
])('it ends when its owner %s', async (_how, afterwards) => {
  const module = new URL('./server.ts', import.meta.url).href
  const program = `
    const { RedisServer } = await import(${JSON.stringify(module)})
    console.log((await RedisServer.start()).port)
    ${afterwards}`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = (await once(owner.stdout, 'data')) as [Buffer]
  const ended = once(owner, 'close')
  if (afterwards !== '') owner.kill('SIGKILL')
  await ended
  while (!(await refusesConnections(Number(line)))) await pause(20)
})
