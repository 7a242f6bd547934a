/**
 * Intake: what it costs to store webhooks safely. Ours verifies a webhook, decides on it, stores
 * it, commits and answers, and processes earlier ones at the same time. The peer is the same route,
 * but it only checks the signature and that the body is JSON, and stores nothing. Each is a
 * separate process, and this process only sends.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Result } from './result.ts'
import { compare, median, takeTurns } from './rounds.ts'
import { adminToken, makeDeliveries, sendAll } from './webhook-load.ts'

const connections = 64

export interface IntakeOptions {
  readonly what: string
  readonly databaseUrl: string
  readonly bound: number
  readonly rounds: number
  readonly deliveries: number
  readonly say: (line: string) => void
}

export async function measureIntake(options: IntakeOptions): Promise<Result> {
  const { what, databaseUrl, bound, rounds, deliveries, say } = options
  const kinds = [['stored', databaseUrl], ['bare']]
  const servers = await Promise.all(kinds.map(startServer))
  let number = 1
  const processed: number[] = []
  const rateOf = (server: StartedServer) => async (): Promise<number> => {
    const prepared = makeDeliveries(deliveries, number)
    number += deliveries
    const startedAt = performance.now()
    const { perSecond, p99Ms } = await sendAll(server.port, prepared, connections)
    server.p99s.push(p99Ms)
    if (server === servers[0]) {
      // No webhook of this round may be processed during the round of the other server.
      await waitUntilProcessed(server.port)
      processed.push((deliveries / (performance.now() - startedAt)) * 1000)
    }
    return perSecond
  }
  try {
    const rates = await takeTurns(servers.map(rateOf), rounds)
    const [stored = [], bare = []] = rates
    const p99s = servers.map(({ p99s: all }) => median(all.slice(1)).toFixed(1))
    say(`${what}: p99 ${p99s.join(' ms, storing nothing ')} ms`)
    say(`${what}: ${Math.round(median(processed.slice(1)))} a second answered and made into runs`)
    return { what, against: 'storing nothing', bound, ...compare(stored, bare) }
  } finally {
    await Promise.all(servers.map(({ child }) => stopServer(child)))
  }
}

async function waitUntilProcessed(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/v1/inbox?state=waiting&limit=1`
  const headers = { authorization: `Bearer ${adminToken}` }
  for (;;) {
    const { items } = (await (await fetch(url, { headers })).json()) as { items: unknown[] }
    if (items.length === 0) return
    await setTimeout(20)
  }
}

interface StartedServer {
  readonly child: ChildProcess
  readonly port: number
  readonly p99s: number[]
}

async function startServer(args: readonly string[]): Promise<StartedServer> {
  const program = join(import.meta.dirname, 'intake-server.ts')
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, port: Number(line), p99s: [] }
  }
  throw new Error(`the server ${args.join(' ')} ended before it listened`)
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
