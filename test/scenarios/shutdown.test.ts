/**
 * Goal: HOLDFAST_SHUTDOWN_MS is how long a real server that is asked to stop waits for open
 * requests.
 * Method: a request whose body never ends stays open forever.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { databases, type ServerData } from './server-data.ts'
import { adminToken, Server } from './server.ts'

let serverData: ServerData
let otherPlace: ServerData
let server: Server
let socket: Socket | null = null
beforeEach(async () => {
  const [sqlite] = databases
  if (sqlite === undefined) throw new Error('there is no database to test on')
  serverData = await sqlite.makeData()
  otherPlace = await sqlite.makeData()
})
afterEach(async () => {
  socket?.destroy()
  await server.kill()
  await serverData.remove()
  await otherPlace.remove()
})

/** Resolves when the server has the request: it asks for the body, which never comes. */
async function beginRequest(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const begun = connect(Number(port), hostname)
  // The server may reset the connection when it ends.
  begun.on('error', () => undefined)
  await once(begun, 'connect')
  const head = [
    'POST /v1/runs HTTP/1.1',
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${adminToken}`,
    'Content-Type: application/json',
    'Content-Length: 100',
    'Expect: 100-continue',
  ]
  begun.write(`${head.join('\r\n')}\r\n\r\n`)
  const [answer] = (await once(begun, 'data')) as [Buffer]
  expect(answer.toString()).toContain('100 Continue')
  return begun
}

const shortMs = 250

it('a server gives up on open requests after HOLDFAST_SHUTDOWN_MS, with exit code 1', async () => {
  server = await Server.start(serverData, { HOLDFAST_SHUTDOWN_MS: String(shortMs) })
  socket = await beginRequest(server.url)
  expect(await server.stop()).toBe(1)
  const { stderr } = await server.command.ended
  expect(stderr).toContain(
    `still going on ${shortMs} ms after the signal (HOLDFAST_SHUTDOWN_MS is ${shortMs})`,
  )
}, 60_000)

it('a longer time lets the same request finish, and the exit code is 0', async () => {
  server = await Server.start(serverData, { HOLDFAST_SHUTDOWN_MS: '50000' })
  const hasty = await Server.start(otherPlace, { HOLDFAST_SHUTDOWN_MS: String(shortMs) })
  try {
    socket = await beginRequest(server.url)
    const other = await beginRequest(hasty.url)
    const code = server.stop()
    // This server was asked to stop later and has already given up, so the first one waits longer.
    expect(await hasty.stop()).toBe(1)
    other.destroy()
    const answer = once(socket, 'data')
    socket.end('x'.repeat(100))
    expect(await Promise.race([answer.then(String), code])).toContain('HTTP/1.1 400')
    expect(await code).toBe(0)
  } finally {
    await hasty.kill()
  }
}, 60_000)
