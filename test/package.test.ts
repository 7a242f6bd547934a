/**
 * Goal: the package that `npm pack` creates works in another project, while a clone runs its
 * sources.
 * Method: the package is packed and installed by npm into a project outside the clone, and used
 * there as a user would: as a library, as a program, with a config file, and by the compiler.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readdirSync } from 'node:fs'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import * as library from '../src/index.ts'
import * as simulator from '../src/simulator/index.ts'
import { clone, installPackage, shellEnv } from './package/install-package.ts'

// Compilers and npm run here, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
let project = ''
beforeAll(async () => {
  project = await installPackage(folder)
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const installed = (...path: string[]) => join(project, 'node_modules', 'holdfast', ...path)
const program = () => join(project, 'node_modules', '.bin', 'holdfast')

/** What a user's file does with the library, however it was loaded. */
const claim = `
openHoldfast({ databaseUrl: 'sqlite::memory:' }).then(async (holdfast) => {
  const gate = await holdfast.checkAndClaimRun({
    repo: 'acme/widgets',
    prNumber: 7,
    baseSha: 'b'.repeat(40),
    headSha: 'a'.repeat(40),
    action: 'opened',
    eventAt: new Date('2026-01-31T12:00:00Z'),
  })
  console.log(gate.reason)
  await holdfast.close()
})
`

/** Both streams, because a warning of Node would be a fault, too. */
async function outputOf(command: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(command, args, { cwd: project, env: shellEnv })
  return stdout + stderr
}

function write(name: string, text: string): string {
  const path = join(project, name)
  writeFileSync(path, text)
  return path
}

describe('the package', () => {
  it('has what it needs to run and nothing else', () => {
    const pages = ['ARCHITECTURE', 'CHANGELOG', 'CONTRIBUTING', 'README', 'SECURITY']
    const top = [...pages.map((name) => `${name}.md`), 'LICENSE'].toSorted()
    const folders = ['bin', 'dist', 'docs', 'examples', 'sql']
    const expected = [...folders, 'index.mjs', 'package.json', 'simulator.mjs'].toSorted()
    expect(readdirSync(installed()).toSorted()).toEqual([...top, ...expected])
    const all = readdirSync(installed(), { recursive: true, encoding: 'utf8' })
    const files = all.filter((file) => !file.startsWith('examples/'))
    expect(all.filter((file) => file.includes('.test.'))).toEqual([])
    expect(all.filter((file) => /^examples\/\w[\w-]*\/(data|site)/.test(file))).toEqual([])
    expect(files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file))).toEqual([])
    for (const dialect of ['sqlite', 'postgres']) {
      const migrations = readdirSync(join(clone, 'sql', dialect)).filter((f) => /^\d/.test(f))
      expect(readdirSync(installed('sql', dialect))).toEqual(migrations)
    }
  })

  it('has every file that its pages link to', () => {
    const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: installed() })
    const missing = pages.flatMap((page) => {
      const text = readFileSync(installed(page), 'utf8').replaceAll(/```.*?```/gs, '')
      const links = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = '']) => link)
      return links
        .filter((link) => !/^[a-z]+:/.test(link))
        .filter((link) => !existsSync(join(dirname(installed(page)), link)))
        .map((link) => `${page}: ${link}`)
    })
    expect(pages.length).toBeGreaterThan(10)
    expect(missing).toEqual([])
  })

  it('depends on every package that it imports and on no other', () => {
    const imported = readdirSync(installed('dist'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .map((file) => readFileSync(installed('dist', file), 'utf8'))
      .flatMap((text) => ts.preProcessFile(text, true, true).importedFiles)
      .map(({ fileName }) => fileName)
      .filter((name) => !/^(\.|node:)/.test(name))
    const manifest = readFileSync(installed('package.json'), 'utf8')
    const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> }
    expect([...new Set(imported)].toSorted()).toEqual(Object.keys(dependencies).toSorted())
  })
})

describe('the library', () => {
  it('is imported and claims a run', async () => {
    const file = write('bot.mjs', `import { openHoldfast } from 'holdfast'\n${claim}`)
    expect(await outputOf(process.execPath, file)).toBe('new\n')
  })

  it('is required by a CommonJS project and claims a run', async () => {
    const file = write('bot.cjs', `const { openHoldfast } = require('holdfast')\n${claim}`)
    expect(await outputOf(process.execPath, file)).toBe('new\n')
  })

  it.each([
    ['holdfast', library],
    ['holdfast/simulator', simulator],
  ])('gives as %s in a clone and in a package the names of the sources', async (entry, sources) => {
    const names = Object.keys(sources).toSorted()
    const print = `import * as library from '${entry}'\nconsole.log(Object.keys(library).join())`
    expect(await outputOf(process.execPath, write('names.mjs', print))).toBe(`${names.join()}\n`)
    const args = ['--input-type=module', '--eval', print]
    const inClone = await run(process.execPath, args, { cwd: clone, env: shellEnv })
    expect(inClone.stdout).toBe(`${names.join()}\n`)
  })

  it('has types that pass in a strict project, with its dependencies', async () => {
    const bot = `import { defineConfig, openHoldfast } from 'holdfast'
      import type { ConflictError, Gate, IncomingEvent, Output } from 'holdfast'
      import type { RunGitHub, RunTypeConfig, When } from 'holdfast'
      import { createGitHubSimulator } from 'holdfast/simulator'
      export const when: When = (event: IncomingEvent) => event.sender !== 'me' || 'my own'
      export const review: RunTypeConfig = { when }
      export const status: Output =
        { channel: 'github-status', context: 'a', state: 'success', targetUrl: 'https://a.b' }
      export const titleOf = async (github: RunGitHub): Promise<string> =>
        (await github.rest.pulls.get({ owner: 'a', repo: 'b', pull_number: 1 })).data.title
      export const lost = (gate: Gate, error: ConflictError) => gate.signal.aborted || error.code
      ${claim}`
    const wrong = `// @ts-expect-error: there is no such option
      defineConfig({ prot: 1 })
      // @ts-expect-error: there is no such option
      createGitHubSimulator({ tokens: 1 })\n`
    const page = readFileSync(join(clone, 'docs', 'guides', 'simulator.md'), 'utf8')
    const guide = write('guide.ts', /```ts\n(.*?)```/s.exec(page)?.[1] ?? 'no example')
    const files = [write('bot.ts', bot + wrong), guide]
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2024']
    const typeRoots = ['--typeRoots', join(clone, 'node_modules', '@types'), '--types', 'node']
    const compiler = join(clone, 'node_modules', 'typescript', 'bin', 'tsc')
    const args = [compiler, ...strict, ...typeRoots, '--module', 'nodenext', ...files]
    const answer = await outputOf(process.execPath, ...args).catch((error: unknown) => error)
    expect(answer).toBe('')
  })
})

describe('the program', () => {
  it('prints its help', async () => {
    expect(await outputOf(program(), '--help')).toContain('holdfast serve')
  })

  it('serves with the config file of the project, shows its page, and stops', async () => {
    const token = 'a-token-that-is-long-enough-to-be-taken'
    const config = "databaseUrl: 'sqlite:from-config.db', port: 0"
    write(
      'holdfast.config.ts',
      `import { defineConfig } from 'holdfast'\nexport default defineConfig({ ${config} })\n`,
    )
    const child = spawn(program(), ['serve'], {
      cwd: project,
      env: { ...shellEnv, HOLDFAST_ADMIN_TOKEN: token },
    })
    const ended = once(child, 'exit')
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
    try {
      const started = once(createInterface(child.stdout), 'line')
      const failed = ended.then(() => Promise.reject(new Error(complaints)))
      const [line] = (await Promise.race([started, failed])) as [string]
      const url = line.replace('holdfast listening on ', '')
      const headers = { authorization: `Bearer ${token}` }
      const page = await fetch(`${url}/docs`, { headers })
      expect(await page.text()).toContain('<script type="module">')
      expect(readdirSync(project)).toContain('from-config.db')
    } finally {
      child.kill('SIGTERM')
    }
    expect(await ended).toEqual([0, null])
  })
})
