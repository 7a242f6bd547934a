/**
 * Goal: a command loads only what it needs, and the cache of compiled code never makes a start
 * fail.
 * Method: real processes that list the modules they loaded, and the start script in a fake
 * installation whose program prints where compiled code is kept.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const bin = resolve('bin/holdfast.mjs')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-start-'))
const lister = join(folder, 'list-modules.mjs')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(argv: readonly string[]) {
  const env = { PATH: process.env['PATH'] ?? '' }
  const options = { cwd: folder, env, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, options)
  return { status, stdout, stderr }
}

/** The packages and the parts of src/ that a process loaded. */
function loadedBy(...argv: readonly string[]): { packages: string[]; parts: string[] } {
  const { stderr } = run(['--import', lister, ...argv])
  const [urls = ''] = /\S+$/.exec(stderr.trim()) ?? []
  const found = (pattern: RegExp) => {
    const names = urls.split(',').flatMap((url) => pattern.exec(url)?.[1] ?? [])
    return [...new Set(names)].toSorted()
  }
  return {
    packages: found(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/),
    parts: found(/\/src\/([^/]+)/),
  }
}

beforeAll(() => {
  writeFileSync(
    lister,
    `import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({
      load(url, context, next) {
        urls.push(url)
        return next(url, context)
      },
    })
    process.on('exit', () => process.stderr.write('\\n' + urls.join(',')))`,
  )
})

describe('the loaded code', () => {
  it('is only the parser for --version', () => {
    const { packages, parts } = loadedBy(bin, '--version')
    expect(packages).toEqual(['commander'])
    expect(parts).toContain('cli')
    expect(parts).not.toContain('http')
    expect(parts).not.toContain('stores')
  })

  it('does not include what a command runs when only its help is asked for', () => {
    expect(loadedBy(bin, 'serve', '--help').packages).toEqual(['commander', 'zod'])
  })

  it('includes neither the server nor the other database for a list from a database', () => {
    run([bin, 'migrate', '--data-dir', folder])
    const { packages, parts } = loadedBy(bin, 'runs', 'list', '--data-dir', folder)
    expect(parts).toContain('stores')
    expect(packages).toContain('zod')
    for (const name of ['fastify', 'pg', 'prom-client', '@octokit/endpoint']) {
      expect(packages).not.toContain(name)
    }
  })

  it('does not include the server for the library', () => {
    const { packages, parts } = loadedBy(resolve('index.mjs'))
    expect(parts).toContain('library')
    for (const name of ['fastify', 'pg', 'prom-client', '@octokit/endpoint']) {
      expect(packages).not.toContain(name)
    }
  })
})

describe('an older Node', () => {
  const version = "Object.defineProperty(process, 'version', { value: 'v20.20.2' })"
  const old = ['--import', `data:text/javascript,${encodeURIComponent(version)}`]
  const needed = 'Holdfast needs Node 24 or newer, but this is v20.20.2'

  it.each(['index.mjs', 'simulator.mjs'])(
    'is refused by %s with a remedy before anything else is loaded',
    (entry) => {
      const { status, stderr } = run([...old, resolve(entry)])
      expect(status).toBe(1)
      expect(stderr).toContain(`Error: ${needed}`)
      expect(stderr).toContain('https://nodejs.org/download')
      expect(stderr).toContain('npm install -D node@24')
      expect(loadedBy(...old, resolve(entry)).parts).toEqual([])
    },
  )
})

describe('compiled code', () => {
  /** A separate installation whose program only prints where compiled code is kept. */
  function install(name: string) {
    const packages = join(folder, name, 'node_modules')
    const root = join(packages, 'holdfast')
    mkdirSync(join(root, 'dist', 'cli'), { recursive: true })
    cpSync(resolve('bin'), join(root, 'bin'), { recursive: true })
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(root, 'dist', 'cli', 'main.js'),
      `import { getCompileCacheDir } from 'node:module'
      export const main = () => console.log(String(getCompileCacheDir()))`,
    )
    return { packages, start: () => run([join(root, 'bin', 'holdfast.mjs')]) }
  }

  it('is kept in the folder where npm keeps the packages', () => {
    const { packages, start } = install('own')
    const { status, stdout, stderr } = start()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.startsWith(join(packages, '.cache', 'holdfast'))).toBe(true)
  })

  it('is not kept in a folder that cannot be written, and the program still starts', () => {
    const { packages, start } = install('closed')
    writeFileSync(join(packages, '.cache'), 'a file where the folder would be')
    expect(start()).toEqual({ status: 0, stdout: 'undefined\n', stderr: '' })
  })
})
