/**
 * Goal: an answer reaches its reader complete, and a reader that reads no more holds nothing back.
 * Method: the real program, with an answer that is larger than what a pipe holds.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { storeWorld, type StoreWorld } from './store-world.ts'

const bin = resolve('bin/holdfast.mjs')
// What the program checks; this Node is not really old.
const oldNode = [
  '--import',
  "data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.1.0' })",
]

let at: StoreWorld
let answer = ''
let children: ChildProcess[] = []
beforeAll(async () => {
  at = await storeWorld()
  const input = { text: 'x'.repeat(60_000) }
  for (let key = 0; key < 20; key++) {
    await at.runs.claim({ kind: 'job', type: 'build', key: `${key}`, input, lease: false }, 'test')
  }
  answer = (await at.command('runs', '--json')).stdout
  expect(answer.length).toBeGreaterThan(1_000_000)
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children = []
})
afterAll(() => at.close())

function list(nodeArgv: readonly string[] = []) {
  const child = spawn(process.execPath, [...nodeArgv, bin, 'runs', '--json'], {
    cwd: at.world.cwd,
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  return { child, exit: once(child, 'exit'), stderr: text(child.stderr) }
}

it.each([
  ['', []],
  [', also if another Node takes over', oldNode],
])('an answer is complete, however large it is%s', async (_name, nodeArgv) => {
  const { child, exit, stderr } = list(nodeArgv)
  expect((await text(child.stdout)) === answer).toBe(true)
  expect([await exit, await stderr]).toEqual([[0, null], ''])
})

it('a reader that has enough ends the program quietly', async () => {
  const { child, exit, stderr } = list()
  await once(child.stdout, 'readable')
  child.stdout.destroy()
  expect([await exit, await stderr]).toEqual([[0, null], ''])
})

it('a signal ends a program that waits for its reader', async () => {
  const { child, exit } = list()
  await once(child.stdout, 'readable')
  child.kill('SIGINT')
  expect(await exit).toEqual([null, 'SIGINT'])
})
