/**
 * Goal: a server that is asked to stop while it executes runs takes nothing new, still stores what
 * it is sent, and says with its exit code whether the work could finish (scenario 60).
 * Method: real servers whose runs wait for an answer of this test.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newThread } from '../intake/payloads.ts'
import type { RunJson } from './client.ts'
import { Hooks, hookEnv } from './hooks.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const config = `
const asks = (options) => async (run) => {
  await fetch(process.env.GATE_URL + '/' + run.type, options(run))
}
const shown = { status: false, anchor: false }

export default {
  runs: {
    review: { ...shown, run: asks((run) => ({ signal: run.signal })) },
    work: { ...shown, run: asks((run) => ({ signal: run.signal })) },
    stuck: { ...shown, run: asks(() => ({})) },
  },
}
`

/** Runs ask it for permission to end. */
class Gate {
  readonly asked: string[] = []
  isOpen = false
  #held: ServerResponse[] = []
  #look: () => void = () => undefined
  readonly #server = createServer((request, response) => {
    this.asked.push(request.url?.slice(1) ?? '')
    if (this.isOpen) response.end()
    else this.#held.push(response)
    this.#look()
  })

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async wasAsked(times: number): Promise<void> {
    while (this.asked.length < times) {
      await new Promise<void>((resolve) => (this.#look = resolve))
    }
  }

  open(): void {
    this.isOpen = true
    for (const response of this.#held.splice(0)) response.end()
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

let data: ServerData
let server: Server
let gate: Gate
let gateUrl: string

beforeEach(async () => {
  data = await databases[0]!.makeData()
  writeFileSync(join(data.folder, 'holdfast.config.ts'), config)
  gate = new Gate()
  gateUrl = await gate.listen()
})
afterEach(async () => {
  gate.close()
  await server.kill()
  await data.remove()
})

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  server = await Server.start(data, { ...hookEnv, GATE_URL: gateUrl, ...env })
}

async function claim(type: string): Promise<string> {
  const answer = await server.admin.claim({ type, key: randomUUID(), lease: false })
  return answer.body.run.id
}

const succeeded = (id: string): Promise<RunJson> =>
  until(
    () => server.admin.run(id),
    ({ state }) => state === 'succeeded',
  )

/** Resolves when the server knows that it should stop: it then answers requests that wait. */
async function askToStop(): Promise<void> {
  const ask = { worker: 'w', types: ['nothing'], wait_ms: 30_000 }
  const waiting = server.admin.post('/v1/runs/lease', ask)
  // This answer comes later on another connection, so the server has the waiting request by then.
  await server.admin.get('/v1/runs')
  server.command.child.kill('SIGTERM')
  expect((await waiting).status).toBe(204)
}

describe('a server that is asked to stop while it works (scenario 60)', () => {
  it('finishes the work, stores what comes in meanwhile, and exits with 0', async () => {
    await start()
    const begun = await claim('work')
    await gate.wasAsked(1)
    await askToStop()
    // Further signals change nothing.
    server.command.child.kill('SIGTERM')
    server.command.child.kill('SIGINT')
    const webhook = { ...newThread().on('opened', 'a', 1), guid: randomUUID() }
    expect(await new Hooks(server).send(webhook)).toMatchObject({ status: 202 })
    const late = await claim('work')
    gate.open()
    expect((await server.command.ended).code).toBe(0)
    expect(gate.asked).toEqual(['work'])
    await start()
    expect(await succeeded(begun)).toMatchObject({ attempt: 1, round: 1 })
    await succeeded(late)
    const { run_ids: ids } = await new Hooks(server).decided(webhook.guid)
    expect(ids).toHaveLength(1)
    await succeeded(ids[0]!)
    expect(gate.asked.toSorted()).toEqual(['review', 'work', 'work'])
  })

  it('gives back what does not finish in time, uncounted, and exits with 1', async () => {
    await start({ HOLDFAST_SHUTDOWN_MS: '250' })
    const id = await claim('work')
    await gate.wasAsked(1)
    expect(await server.stop()).toBe(1)
    const { stderr } = await server.command.ended
    expect(stderr).toContain('1 run was still going on after 250 ms (HOLDFAST_SHUTDOWN_MS)')
    gate.open()
    await start()
    expect(await succeeded(id)).toMatchObject({ attempt: 1, round: 1 })
  })

  it('does not wait for a function that ignores it, and exits with 1', async () => {
    await start({ HOLDFAST_SHUTDOWN_MS: '250' })
    const id = await claim('stuck')
    await gate.wasAsked(1)
    expect(await server.stop()).toBe(1)
    gate.open()
    await start()
    expect(await succeeded(id)).toMatchObject({ attempt: 2, round: 1 })
  })
})
