/**
 * Goal: a command runs as its run asks, and what it did is reported as it was.
 * Method: real commands under a real guard.
 */
import { afterAll, describe, expect, it } from 'vitest'
import type { CommandEnd } from '../../src/executors/command/commands.ts'
import { execution, isAlive, memoryOf, openCommands, parentOf } from './commands-world.ts'

const commands = openCommands({ graceMs: 500 })
afterAll(() => commands.close())

const run = (script: string, given = {}): Promise<CommandEnd> =>
  commands.run(execution(script, given).request).ended

describe('the end of a command', () => {
  it.each([0, 1, 3, 78, 255])('has its exit code %i', async (code) => {
    expect(await run(`exit ${code}`)).toMatchObject({
      exitCode: code,
      signal: null,
      failure: null,
    })
  })

  it('has the signal that ended it', async () => {
    expect(await run('kill -USR1 $$')).toMatchObject({ exitCode: null, signal: 'SIGUSR1' })
  })

  it('comes although a process that it left behind holds its output open', async () => {
    const before = performance.now()
    const end = await run('echo first; (sleep 0.1; echo second; exec stubborn left) & echo third')
    expect(end).toMatchObject({ exitCode: 0, output: 'first\nthird\nsecond\n' })
    expect(performance.now() - before).toBeLessThan(5000)
  })

  it('waits for a command that closes its output and goes on', async () => {
    const quiet = execution('exec >&- 2>&-; mark closed; wait-for go; exit 4')
    const running = commands.run(quiet.request)
    await quiet.pidOf('closed')
    const other = run('exit 0').then(() => 'another command')
    expect(await Promise.race([running.ended, other])).toBe('another command')
    quiet.go('go')
    expect(await running.ended).toMatchObject({ exitCode: 4 })
  })

  it('comes once for each of fifty commands at a time', async () => {
    const numbers = Array.from({ length: 50 }, (_, n) => n)
    const ends = await Promise.all(numbers.map((n) => run(`echo number ${n}; exit ${n}`)))
    expect(ends.map(({ exitCode }) => exitCode)).toEqual(numbers)
    expect(ends.map(({ output }) => output)).toEqual(numbers.map((n) => `number ${n}\n`))
  })
})

describe('a command', () => {
  it('gets its environment and nothing else', async () => {
    const { request } = execution('')
    const program = 'console.log(JSON.stringify(process.env))'
    const command = [process.execPath, '-e', program]
    const { output } = await commands.run({ ...request, command }).ended
    expect(JSON.parse(output)).toEqual({ ...request.env, HOLDFAST_RUN_TOKEN: 'hfr_(hidden)' })
  })

  it('runs in its folder with an empty stdin', async () => {
    const there = execution('pwd; cat; echo end')
    const { output } = await commands.run(there.request).ended
    expect(output).toBe(`${there.folder}\nend\n`)
  })

  it('leads a process group and a session, without a terminal', async () => {
    const { request } = execution('')
    const command = ['sh', '-c', 'ps -o pid=,pgid=,sid=,tty= -p $$']
    const { output } = await commands.run({ ...request, command }).ended
    const [pid, group, session, terminal] = output.trim().split(/\s+/)
    expect([group, session, terminal]).toEqual([pid, pid, '?'])
  })

  it('may open /dev/stderr, which a socket would not allow', async () => {
    expect(await run('echo a >/dev/stdout; echo b >/dev/stderr')).toMatchObject({
      exitCode: 0,
      output: 'a\nb\n',
    })
  })
})

describe('a command that cannot be started', () => {
  const { request } = execution('')
  const env = { ...request.env, API_KEY: 'opensesame' }

  it.each([
    ['whose name is unknown', { command: ['no-such-program', 'opensesame'] }, 'PATH'],
    ['that is not executable', { command: ['/etc/passwd'] }, 'chmod +x'],
    ['that is a folder', { command: ['/etc'] }, 'is a folder'],
    ['whose folder is missing', { cwd: '/no/such/folder' }, 'there is no folder /no/such/folder'],
    ['that is empty', { command: [] }, 'Correct it in the configuration'],
    ['with a NUL', { command: ['sh', 'opensesame\0'] }, 'NUL character'],
    ['that is too large', { command: ['sh', 'x'.repeat(3_000_000)] }, 'Pass large values'],
  ])('%s is reported with the remedy', async (_what, given, remedy) => {
    const end = await commands.run({ ...request, env, ...given }).ended
    expect(end).toMatchObject({ exitCode: null, signal: null, failure: 'not_started' })
    expect(end.failureText).toContain(remedy)
    expect(end.failureText).toMatch(/^The command "(sh|no-such-program|\/etc.*|)" could not/)
    expect(end.failureText).not.toContain('opensesame')
  })
})

describe('the output', () => {
  it('has stdout and stderr in the order they were written', async () => {
    const lines = Array.from({ length: 200 }, (_, n) => `${n}`)
    const script = lines.map((n) => `echo ${n} >&${(Number(n) % 2) + 1}`).join('\n')
    expect((await run(script)).output).toBe(`${lines.join('\n')}\n`)
  })

  it('is the last 64 KB, without half a character', async () => {
    const end = await run('i=0; while [ $i -lt 9000 ]; do echo "€€€€€ $i"; i=$((i+1)); done')
    expect(end.cutOff).toBe(true)
    expect(end.output.endsWith('€€€€€ 8999\n')).toBe(true)
    expect(end.output).not.toContain('\ufffd')
    expect(Buffer.byteLength(end.output)).toBeGreaterThan(64 * 1024 - 4)
    expect(Buffer.byteLength(end.output)).toBeLessThanOrEqual(64 * 1024)
  })

  it('hides a secret that arrives in two pieces', async () => {
    const secrets = ['open sesame']
    const end = await run('printf "a open se"; sleep 0.3; printf "same b"', { secrets })
    expect(end.output).toBe('a *** b')
  })

  it('hides a secret wherever the cut goes through it', async () => {
    const secret = 'correct-horse-battery-staple'
    const program =
      'process.stdout.write(process.argv[1].repeat(9000) + ".".repeat(+process.argv[2]))'
    const ends = await Promise.all(
      Array.from({ length: 30 }, (_, n) => {
        const command = [process.execPath, '-e', program, secret, String(n)]
        return run('', { command, secrets: [secret] })
      }),
    )
    for (const [n, { output, cutOff }] of ends.entries()) {
      expect(cutOff).toBe(true)
      expect(output.replace('***', '')).toBe('.'.repeat(n))
    }
  })

  it('may be a gigabyte, and the guard stays small', async (context) => {
    if (process.platform !== 'linux') context.skip('reads the memory of the guard in /proc')
    const flood = execution('mark own; exec head -c 1000000000 /dev/zero')
    const running = commands.run(flood.request)
    const guard = parentOf(await flood.pidOf('own'))
    const idle = memoryOf(guard)
    const end = await running.ended
    expect(end).toMatchObject({ exitCode: 0, cutOff: true })
    expect(isAlive(guard)).toBe(true)
    expect(memoryOf(guard).most - idle.now).toBeLessThan(40_000)
  }, 60_000)
})
