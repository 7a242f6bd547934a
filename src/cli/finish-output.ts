/**
 * The end of the output. What was written to a pipe leaves this process only when its reader takes
 * it, and ending the process drops what is left. So a process ends only after this.
 *
 * What must hold:
 * - An answer is complete, however long its reader takes. If the reader has gone, nothing waits.
 * - Whoever stops a process is not kept waiting by a reader that never reads.
 * - A log that nobody reads does not keep a server from ending.
 */
import type { Writable } from 'node:stream'
import { within, type Scheduler } from '../scheduler.ts'

/** How long a reader may take nothing, where it is not waited for without a limit. */
const patienceMs = 2000

export interface OutputEnd {
  readonly stdout: Writable
  readonly stderr: Writable
  readonly scheduler: Scheduler
  /** Whether somebody asked this process to stop. */
  readonly wasStopped: boolean
}

export async function finishOutput({ stdout, stderr, scheduler, wasStopped }: OutputEnd) {
  const written = untilWritten(stdout)
  await (wasStopped ? whileItGoesOn(stdout, written, scheduler) : written)
  await whileItGoesOn(stderr, untilWritten(stderr), scheduler)
}

function untilWritten(stream: Writable): Promise<'written'> {
  return new Promise((resolve) => {
    const done = (): void => resolve('written')
    if (stream.destroyed || stream.writableLength === 0) return done()
    stream.once('close', done)
    stream.write('', done)
  })
}

/** Until all is written, or until its reader has taken nothing for a while. */
async function whileItGoesOn(
  stream: Writable,
  written: Promise<'written'>,
  scheduler: Scheduler,
): Promise<void> {
  let left: number
  do left = stream.writableLength
  while (
    (await within(scheduler, patienceMs, written, 'waiting')) === 'waiting' &&
    stream.writableLength < left
  )
}
