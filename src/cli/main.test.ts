/** The real program in its own process, started as a user starts it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

// Several processes start one after the other, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const bin = resolve('bin/holdfast.mjs')
const plainEnv = { PATH: process.env['PATH'] ?? '' }
let cwd = ''
let children: ChildProcess[] = []
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-bin-'))
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children = []
})

function run(argv: readonly string[], env: Record<string, string> = {}) {
  const options = { cwd, env: { ...plainEnv, ...env }, encoding: 'utf8', timeout: 30_000 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...argv], options)
  return { status, stdout, stderr }
}

interface Server {
  readonly child: ChildProcess
  readonly url: string
  readonly stderr: () => string
  readonly exit: Promise<unknown[]>
}

async function serve(nodeArgv: readonly string[] = []): Promise<Server> {
  const child = spawn(process.execPath, [...nodeArgv, bin, 'serve', '--port', '0'], {
    cwd,
    env: plainEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const exit = once(child, 'exit')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  let stdout = ''
  const line = new Promise<string>((found) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      const match = /^holdfast listening on (\S+)\n/.exec(stdout)
      if (match?.[1] !== undefined) found(match[1])
    })
  })
  const url = await Promise.race([line, exit.then(() => Promise.reject(new Error(stderr)))])
  return { child, url, exit, stderr: () => stderr }
}

describe('the program', () => {
  test('prints its help', () => {
    const { status, stdout } = run(['--help'])
    expect(status).toBe(0)
    expect(stdout).toContain('holdfast serve')
  })

  test('prints the version of its package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect(run(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  })

  test.each([
    [['serve', '--prot', '1'], {}, 2, 'Did you mean "--port"?'],
    [['serve'], { HOLDFAST_PORT: 'abc' }, 2, 'HOLDFAST_PORT (from the environment) is "abc"'],
    [['serve'], { HOLDFAST_PROT: '1' }, 2, 'Did you mean "HOLDFAST_PORT"?'],
    [['serve', '--config', 'broken.ts'], {}, 2, 'runs.review.onNewer is "never" but must be'],
    [['token', 'create', '--scope', 'god'], {}, 2, '--scope must be'],
    [
      ['token', 'create', '--scope', 'read', '--url', 'http://127.0.0.1:9', '--token', 'x'],
      {},
      3,
      'could not be reached',
    ],
  ])('ends %j with %o with the exit code %i', (argv, env, code, message) => {
    writeFileSync(
      join(cwd, 'broken.ts'),
      "export default { runs: { review: { onNewer: 'never' as string } } }",
    )
    const { status, stdout, stderr } = run(argv, env)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/\n\s+at /)
    expect({ status, stdout }).toEqual({ status: code, stdout: '' })
  })
})

test('a config file that never becomes ready is wrong settings', () => {
  const file = join(cwd, 'holdfast.config.ts')
  writeFileSync(file, 'await new Promise(() => {})\nexport default {}')
  expect(run(['serve', '--port', '0'])).toEqual({
    status: 2,
    stdout: '',
    stderr:
      `holdfast: The config file ${file} could not be run: it awaits something that never ` +
      'happens\n  Look for an await at the top level whose promise is never resolved.\n',
  })
})

describe('on a Node that is too old', () => {
  // What the program checks; this Node is not really old.
  const pretend = [
    '--import',
    "data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.1.0' })",
  ]
  const runOld = (path: string, argv: readonly string[]) =>
    spawnSync(process.execPath, [...pretend, path, ...argv], { cwd, encoding: 'utf8' })

  test('the Node that npm installed takes over, and its exit code is kept', () => {
    expect(runOld(bin, ['--help']).stdout).toContain('holdfast serve')
    expect(runOld(bin, ['serve', '--prot', '1']).status).toBe(2)
  })

  test('a signal reaches the server', async () => {
    const { child, exit } = await serve(pretend)
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  })

  test.each([
    ['missing', []],
    ['as old', ['#!/bin/sh\necho v20.2.0\n']],
    ['of a package as old', ['#!/bin/sh\necho v24.0.0\n', '{ "version": "20.2.0" }']],
  ])('the program says so when the Node beside it is %s', (_name, [script, manifest]) => {
    cpSync(resolve('bin'), join(cwd, 'bin'), { recursive: true })
    const modules = join(cwd, 'node_modules')
    if (script !== undefined) {
      mkdirSync(join(modules, '.bin'), { recursive: true })
      mkdirSync(join(modules, 'node', 'bin'), { recursive: true })
      writeFileSync(join(modules, 'node', 'bin', 'node'), script, { mode: 0o755 })
      symlinkSync(join(modules, 'node', 'bin', 'node'), join(modules, '.bin', 'node'))
    }
    if (manifest !== undefined) writeFileSync(join(modules, 'node', 'package.json'), manifest)
    const { status, stderr } = runOld(join(cwd, 'bin', 'holdfast.mjs'), ['--help'])
    expect(status).toBe(1)
    expect(stderr).toContain('Holdfast needs Node 24 or newer, but this is v20.1.0')
  })
})

describe('a server', () => {
  test('serves, creates tokens that work, and stops cleanly', async () => {
    const { child, url, exit, stderr } = await serve()
    const admin = readFileSync(join(cwd, 'data', 'admin-token'), 'utf8').trim()
    expect(stderr()).toContain(admin)
    expect(stderr()).toContain('Reason: no GitHub credentials')
    expect(statSync(join(cwd, 'data')).mode & 0o777).toBe(0o700)
    expect(statSync(join(cwd, 'data', 'holdfast.db')).mode & 0o777).toBe(0o600)

    const through = run(['token', 'create', '--scope', 'read', '--url', url], {
      HOLDFAST_ADMIN_TOKEN: admin,
    })
    const beside = run(['token', 'create', '--scope', 'read', '--json'])
    expect([through.status, beside.status]).toEqual([0, 0])
    const { token } = JSON.parse(beside.stdout) as { token: string }
    for (const bearer of [through.stdout.trim(), token]) {
      const headers = { authorization: `Bearer ${bearer}` }
      expect((await fetch(`${url}/v1/runs`, { headers })).status).toBe(200)
    }
    child.kill('SIGTERM')
    // Also when everything has stopped already.
    const again = setInterval(() => child.kill('SIGINT'), 2)
    expect(await exit.finally(() => clearInterval(again))).toEqual([0, null])
  })

  test('does not start on a port that another program uses', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { status, stderr } = run(['serve', '--port', String(port)])
    other.close()
    expect(status).toBe(1)
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is already in use`)
  })

  test('does not start on a database that another server holds', async () => {
    const first = await serve()
    const { status, stderr } = run(['serve', '--port', '0'])
    expect(status).toBe(1)
    expect(stderr).toMatch(/^holdfast: .+\n {2}.+\n$/)
    first.child.kill('SIGTERM')
    await first.exit
  })

  test('says so when PostgreSQL cannot be reached', () => {
    const { status, stderr } = run(['serve', '--database-url', 'postgres://me@127.0.0.1:9/x'], {
      HOLDFAST_ADMIN_TOKEN: 'long-enough-for-no-warning',
    })
    expect(status).toBe(3)
    expect(stderr).toBe(
      'holdfast: No server listens at 127.0.0.1:9 (ECONNREFUSED); the database is "x"\n' +
        '  Is PostgreSQL running there? Check HOLDFAST_DATABASE_URL.\n',
    )
  })
})
