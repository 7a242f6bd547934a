/**
 * What `holdfast serve` costs while nothing happens: the share of one core, and memory. The kernel
 * counts both (Linux).
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import type { Limit } from './limits.ts'

/** The kernel's unit of time in /proc, on every usual Linux. */
const ticksPerSecond = 100
const sampleMs = 1000

export interface IdleOptions {
  readonly folder: string
  /** How long it is left alone before it is measured: it starts, and purges once. */
  readonly settleMs: number
  readonly seconds: number
  readonly say: (line: string) => void
}

export async function measureIdle(options: IdleOptions): Promise<Limit[]> {
  const { folder, settleMs, seconds, say } = options
  if (!existsSync('/proc/self/stat')) {
    say('an idle server is not measured: only Linux says how much CPU and memory it uses')
    return []
  }
  // In a clone the first start compiles the sources, and later ones find them compiled.
  await stop(await startServer(folder))
  const server = await startServer(folder)
  try {
    await setTimeout(settleMs)
    const pid = server.pid ?? 0
    const began = { at: performance.now(), ticks: ticksOf(pid) }
    let largest = 0
    for (let second = 0; second < seconds; second++) {
      await setTimeout(sampleMs)
      largest = Math.max(largest, megabytesOf(pid))
    }
    const used = (ticksOf(pid) - began.ticks) / ticksPerSecond
    const share = (used * 1000 * 100) / (performance.now() - began.at)
    return [
      { what: `idle server, CPU in ${seconds} s`, value: share, unit: '%', bound: 1 },
      { what: 'idle server, memory', value: largest, unit: 'MB', bound: 150 },
    ]
  } finally {
    await stop(server)
  }
}

/** Resolves when it is ready. */
async function startServer(folder: string): Promise<ChildProcess> {
  const program = join(import.meta.dirname, '..', 'bin', 'holdfast.mjs')
  const args = [program, 'serve', '--port', '0', '--data-dir', join(folder, 'idle')]
  const env = { PATH: process.env['PATH'] }
  const server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  await once(createInterface(server.stdout), 'line')
  return server
}

async function stop(server: ChildProcess): Promise<void> {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
}

/** User and system time. The name of the program, in brackets, may contain spaces. */
function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** What is in physical memory. */
function megabytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1000
}
