/**
 * Goal: on a terminal a command is what it would be without `exec`: in the foreground, with the
 * terminal to itself. In a pipeline it reads what is piped to it.
 * Method: the real program in a pseudo-terminal, and in a pipeline of a shell.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { isAlive } from '../executors/commands-world.ts'
import { databases } from '../scenarios/server-data.ts'
import { ExecWorld, untilStopped } from './exec-world.ts'

vi.setConfig({ testTimeout: 60_000 })

const repository = join(import.meta.dirname, '..', '..')
const node = join(repository, 'node_modules', '.bin', 'node')
const holdfast = `${node} ${join(repository, 'bin', 'holdfast.mjs')}`
const exec = `${holdfast} exec --type build --key one --`

let world: ExecWorld
let started: ChildProcess | null = null

beforeEach(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
})
afterEach(async () => {
  started?.kill('SIGKILL')
  await world.close()
})

/** A shell's command line. In a terminal, what is written to its input is typed. */
function shell(line: string, terminal: boolean) {
  const env = { PATH: process.env['PATH'], TERM: 'xterm', AT: world.data.folder, ...world.data.env }
  const [program, args] = terminal ? ['script', ['-qefc', line, '/dev/null']] : ['sh', ['-c', line]]
  const child = spawn(program, args, { cwd: world.data.folder, env })
  started = child
  let shown = ''
  child.stdout.on('data', (text) => (shown += String(text)))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, shown }))
  return { type: (text: string) => child.stdin.write(text), ended }
}

it('the command has the terminal, in the group of exec', async () => {
  // The fifth field is the process group.
  const group = (pid: string): string => `$(cut -d" " -f5 /proc/${pid}/stat)`
  world.write(
    'script.sh',
    `test -t 0 && test -t 1 && test -t 2 && echo terminal
    test ${group('$$')} = ${group('$PPID')} && echo foreground
    read line; echo "typed $line"`,
  )
  const { type, ended } = shell(`${exec} sh script.sh`, true)
  type('hello\n')
  const { code, shown } = await ended
  expect(code).toBe(0)
  for (const words of ['terminal', 'foreground', 'typed hello', 'Done: build of one']) {
    expect(shown).toContain(words)
  }
})

it('Ctrl-C reaches the command once, and the run has failed: interrupted', async () => {
  world.write('script.sh', `trap 'echo got it >>$AT/got; exit 0' INT; ${untilStopped}`)
  const { type, ended } = shell(`${exec} sh script.sh`, true)
  const pid = Number(await world.written('pid'))
  type('\x03')
  expect((await ended).code).toBe(130)
  expect([await world.written('got'), isAlive(pid)]).toEqual(['got it', false])
  expect((await world.runs())[0]).toMatchObject({
    ...{ state: 'failed', error: { code: 'interrupted' } },
  })
})

it('without a terminal the command leads a session of its own and reads its input', async () => {
  world.write('script.sh', 'cat; test $(cut -d" " -f6 /proc/$$/stat) = $$ && echo leads')
  const { ended } = shell(`echo piped | ${exec} sh script.sh | cat`, false)
  expect(await ended).toEqual({ code: 0, shown: 'piped\nleads\n' })
})

it('a reader that goes away ends the command as without exec', async () => {
  world.write('script.sh', 'while :; do echo line || exit 9; done')
  const { ended } = shell(`${exec} sh script.sh | head -n 1; echo over`, false)
  expect((await ended).shown).toBe('line\nover\n')
  const [run] = await world.runs()
  expect(run).toMatchObject({ state: 'failed', error: { code: 'command_failed' } })
})
