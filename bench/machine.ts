/** Describes what the numbers depend on: the machine's cores, load and disk. */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/clock.ts'
import { median } from './rounds.ts'

const fsyncs = 100
const pageBytes = 4096
const tmpfsType = 0x01021994

export function describeMachine(folder: string): string {
  const cores = cpus()
  const model = cores[0]?.model ?? 'unknown'
  const load = loadavg()[0]?.toFixed(1) ?? '?'
  const fsync = fsyncMs(folder).toFixed(2)
  const lines = [
    `node ${process.version}, ${cores.length} cores (${model}), load ${load}`,
    `fsync of ${pageBytes} bytes: ${fsync} ms (median of ${fsyncs}) in ${folder}`,
  ]
  if (isMemory(folder)) lines.push(`WARNING: ${folder} is in memory: SQLite's fsyncs cost nothing`)
  if (isMemory(tmpdir()))
    lines.push(`WARNING: ${tmpdir()} is in memory: so are PostgreSQL's fsyncs`)
  return lines.join('\n')
}

const isMemory = (folder: string): boolean => statfsSync(folder).type === tmpfsType

function fsyncMs(folder: string): number {
  const path = join(folder, 'fsync')
  const file = openSync(path, 'w')
  const page = Buffer.alloc(pageBytes, 1)
  const times = Array.from({ length: fsyncs }, () => {
    writeSync(file, page)
    const began = systemClock.monotonicMs()
    fsyncSync(file)
    return systemClock.monotonicMs() - began
  })
  closeSync(file)
  rmSync(path)
  return median(times)
}
