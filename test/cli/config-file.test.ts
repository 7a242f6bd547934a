/**
 * Goal: a config file works in any package, and an error in it is reported with its file and line.
 * Method: real processes, because the test runner loads TypeScript in its own way.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)

const loader = pathToFileURL('src/settings/load-settings.ts').href
const program = `
  import { loadSettings } from '${loader}'
  const sources = { env: {}, cwd: process.cwd(), config: process.argv[1] }
  const answer = await loadSettings(sources).catch(({ problems, hint }) => ({ problems, hint }))
  const { port, configFile, problems, hint } = answer
  console.log(JSON.stringify({ port, configFile, problems, hint }))`

interface Loaded {
  readonly port?: number
  readonly configFile?: string
  readonly problems?: readonly string[]
  readonly hint?: string
}

/** Loads the folder's settings in a separate process. Returns them, or what is wrong with them. */
function load(...named: readonly string[]): Loaded & { readonly stderr: string } {
  const argv = ['--input-type=module', '-e', program, ...named]
  const options = { cwd: folder, env: {}, encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(process.execPath, argv, options)
  if (stdout === '') throw new Error(stderr)
  return { ...(JSON.parse(stdout) as Loaded), stderr }
}

const importing = "import { port } from './port.ts'\nexport default { port }\n"

describe('loading a config file', () => {
  it.each([
    ['commonjs', '{ "type": "commonjs" }'],
    ['none', '{ "name": "bot" }'],
    ['module', '{ "type": "module" }'],
  ])('works with the type %s in package.json', (_, manifest) => {
    write('package.json', manifest)
    write('holdfast.config.ts', importing)
    write('port.ts', 'export const port: number = 7001\n')
    const configFile = join(folder, 'holdfast.config.ts')
    expect(load()).toEqual({ port: 7001, configFile, stderr: '' })
  })

  it('works without a package.json and in a folder with any name', () => {
    const odd = join(folder, 'a b é#%')
    mkdirSync(odd)
    folder = odd
    write('holdfast.config.ts', importing)
    write('port.ts', 'export const port: number = 7004\n')
    expect(load()).toMatchObject({ port: 7004, stderr: '' })
    write('port.ts', "export const port = 1\nthrow new Error('no port')\n")
    expect(load().problems?.[0]).toMatch(/Error: no port \(.*a b é#%\/port\.ts:2\)$/)
  })

  it('finds this package where the project has not installed it', () => {
    const text =
      "import { defineConfig } from 'holdfast'\nexport default defineConfig({ port: 7005 })\n"
    write('holdfast.config.ts', text)
    expect(load()).toMatchObject({ port: 7005, stderr: '' })
  })

  it('lets the config file import a CommonJS file', () => {
    write('package.json', '{ "type": "commonjs" }')
    write('holdfast.config.ts', "import port from './port.cjs'\nexport default { port }\n")
    write('port.cjs', 'module.exports = 7002\n')
    expect(load()).toMatchObject({ port: 7002, stderr: '' })
  })
})

describe('the name of a config file', () => {
  it('may end in .mts', () => {
    write('holdfast.config.mts', 'const port: number = 7003\nexport default { port }\n')
    expect(load()).toMatchObject({ port: 7003, configFile: join(folder, 'holdfast.config.mts') })
  })

  it('must be unique: two config files are refused', () => {
    write('holdfast.config.ts', 'export default { port: 1 }')
    write('holdfast.config.mts', 'export default { port: 2 }')
    expect(load().problems).toEqual([
      `Both holdfast.config.ts and holdfast.config.mts are in ${folder}. ` +
        'Remove one of them, or name the right one with --config',
    ])
    expect(load('holdfast.config.ts').port).toBe(1)
  })
})

describe('a config file that does not run', () => {
  it.each([
    ['syntax that TypeScript does not know', 'export default {\n  port: ,\n}', 2],
    ['a missing end', 'export default {\n', 1],
    ['TypeScript that is more than types', '\nenum A { b }\nexport default {}', 2],
    ['an export that is not there', "\n\nimport { a } from './port.ts'\nexport default { a }", 3],
    ['an error', "\n\n\nthrow new Error('no')", 4],
    ['an error in a function', "const f = () => {\n  throw new Error('no')\n}\nf()", 2],
  ])('is reported with the line: %s', (_, text, line) => {
    write('package.json', '{ "type": "commonjs" }')
    write('holdfast.config.ts', text)
    write('port.ts', 'export const port: number = 7001\n')
    const path = join(folder, 'holdfast.config.ts')
    const { problems, stderr } = load()
    expect(problems).toEqual([expect.stringContaining(`(${path}:${line})`)])
    expect(problems).toEqual([expect.stringContaining(`The config file ${path} could not be run`)])
    expect(stderr).toBe('')
  })

  it('is reported with the imported file that has the error', () => {
    write('holdfast.config.ts', importing)
    write('port.ts', 'export const port =\n')
    expect(load().problems).toEqual([expect.stringMatching(`\\(${join(folder, 'port.ts')}:\\d\\)`)])
  })

  it('is reported without a line where Node gives none', () => {
    write('holdfast.config.ts', "import './missing.ts'\nexport default {}")
    expect(load().problems).toEqual([expect.stringContaining(join(folder, 'missing.ts'))])
    expect(load().problems).toEqual([expect.not.stringMatching(/:\d+\)/)])
  })

  it.each([
    ["import { port } from './port'\nexport default { port }", "Write the file's ending"],
    ['enum A { b }\nexport default {}', 'no enum, namespace or parameter property'],
    ["const fs = require('node:fs')\nexport default {}", 'use import and export default'],
    ['export const port = 1', 'Write: export default defineConfig({ ... })'],
  ])('gets a hint what to write instead of %j', (text, hint) => {
    write('package.json', '{ "type": "commonjs" }')
    write('holdfast.config.ts', text)
    write('port.ts', 'export const port: number = 7001\n')
    expect(load().hint).toContain(hint)
  })
})
