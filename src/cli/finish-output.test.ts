import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { finishOutput } from './finish-output.ts'

/** A pipe whose reader takes a part when the test says so. */
function pipe() {
  const waiting: (() => void)[] = []
  const write = (_chunk: unknown, _encoding: string, done: () => void) => void waiting.push(done)
  return { stream: new Writable({ write }), take: () => waiting.shift()?.() }
}

function ending(wasStopped: boolean) {
  const out = pipe()
  const err = pipe()
  const timers = new Set<() => void>()
  const after = (_ms: number, task: () => void): (() => void) => {
    timers.add(task)
    return () => void timers.delete(task)
  }
  const scheduler = { soon: after.bind(null, 0), after, afterInBackground: after }
  const state = { isDone: false }
  const start = () => {
    const streams = { stdout: out.stream, stderr: err.stream }
    void finishOutput({ ...streams, scheduler, wasStopped }).then(() => {
      state.isDone = true
    })
  }
  const isDone = async () => {
    await setImmediate()
    return state.isDone
  }
  /** The reader took nothing for a while. */
  const pass = async () => {
    await setImmediate()
    for (const task of timers) task()
  }
  return { out, err, timers, start, isDone, pass }
}

test('an answer is waited for without a limit', async () => {
  const { out, timers, start, isDone } = ending(false)
  out.stream.write('answer')
  start()
  expect([await isDone(), timers.size]).toEqual([false, 0])
  out.take()
  out.take()
  expect(await isDone()).toBe(true)
})

test('an answer that nobody reads does not hold back a process that was stopped', async () => {
  const { out, start, isDone, pass } = ending(true)
  out.stream.write('answer')
  start()
  expect(await isDone()).toBe(false)
  await pass()
  expect(await isDone()).toBe(true)
})

test('a log is waited for while its reader reads', async () => {
  const { err, start, isDone, pass } = ending(false)
  for (const line of ['1', '2', '3']) err.stream.write(line)
  start()
  await isDone()
  err.take()
  await pass()
  expect(await isDone()).toBe(false)
  await pass()
  expect(await isDone()).toBe(true)
})

test('nothing waits for a reader that has gone', async () => {
  const { out, err, start, isDone } = ending(false)
  out.stream.write('answer')
  out.stream.destroy()
  err.stream.destroy()
  start()
  expect(await isDone()).toBe(true)
})
