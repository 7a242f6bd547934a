/**
 * Goal: the code follows our style rules, and each finding says where and what to do.
 * Method: every rule first fails on a sample text, then runs over the repository.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { machineIsHandedIn } from './tidy/banned-calls.ts'
import { channelsStayHome } from './tidy/channel-names.ts'
import {
  deliveriesAreStoredOnce,
  dialectsStayHome,
  importDirection,
  importTable,
  storesAreNamedOnce,
} from './tidy/import-rules.ts'
import { readImportTable, type Part } from './tidy/import-table.ts'
import {
  looseEnds,
  missingEntries,
  resolvedAddresses,
  type PackageEntries,
} from './tidy/package-rules.ts'
import { readSources, repository, sourceOf, type Rule } from './tidy/source.ts'
import { chanceHasASeed, everyTestRuns } from './tidy/test-rules.ts'
import {
  fileLength,
  functionLength,
  kebabCaseNames,
  lineLength,
  namesSaySomething,
  nothingLeftOver,
  opensWithComment,
} from './tidy/text-rules.ts'

const find = (rule: Rule, path: string, text: string) => rule(sourceOf(path, text))

describe('text rules', () => {
  it('a line over 100 columns is found, one of 100 is not', () => {
    const text = `${'x'.repeat(100)}\n${'y'.repeat(101)}\n`
    expect(find(lineLength, 'src/a.ts', text)).toEqual([
      'src/a.ts:2 line has 101 columns; break it below 101',
    ])
  })

  it('a file over 400 lines is found, one of 400 is not', () => {
    expect(find(fileLength, 'src/a.ts', 'a\n'.repeat(400))).toEqual([])
    expect(find(fileLength, 'src/a.ts', 'a\n'.repeat(401))).toHaveLength(1)
  })

  it('a function over 70 lines is found, one of 70 and a long test are not', () => {
    const functionOf = (lines: number) => `const f = () => {\n${'f()\n'.repeat(lines - 2)}}\n`
    expect(find(functionLength, 'src/a.ts', functionOf(70))).toEqual([])
    expect(find(functionLength, 'src/a.ts', functionOf(71))).toHaveLength(1)
    expect(find(functionLength, 'src/a.test.ts', functionOf(71))).toEqual([])
  })

  it.each(['src/utils/a.ts', 'src/run-helpers.ts', 'src/common.ts', 'test/run-manager.test.ts'])(
    'the name %s says nothing',
    (path) => expect(find(namesSaySomething, path, '')).toHaveLength(1),
  )

  it('a name that only contains such a word is allowed', () => {
    expect(find(namesSaySomething, 'src/commonwealth.ts', '')).toEqual([])
  })

  it('a file name in another case is found', () => {
    expect(find(kebabCaseNames, 'src/runStore.ts', '')).toHaveLength(1)
    expect(find(kebabCaseNames, 'src/run-store.test.ts', '')).toEqual([])
  })

  it('a file that does not open with a comment is found', () => {
    expect(find(opensWithComment, 'src/a.ts', 'const a = 1 // here\n')).toHaveLength(1)
    expect(find(opensWithComment, 'test/a.test.ts', 'const a = 1\n')).toHaveLength(1)
    expect(find(opensWithComment, 'src/a.test.ts', 'const a = 1\n')).toEqual([])
    expect(find(opensWithComment, 'bin/a.mjs', '#!/usr/bin/env node\n// Why.\n')).toEqual([])
  })

  it('a leftover word is found with its line', () => {
    const word = ['FIX', 'ME'].join('')
    const findings = find(nothingLeftOver, 'src/a.ts', `// fine\n// ${word} later\n`)
    expect(findings).toEqual([`src/a.ts:2 ${word}: do it now, or write an issue and remove it`])
  })
})

describe('test rules', () => {
  it.each([
    ...['it.skip', 'it.only', 'describe.skip', 'test.only', 'it.todo', 'it.fails'],
    ...['it.runIf(canMount)', 'describe.skipIf(isMac)', 'it.concurrent.skip'],
  ])('%s is found', (call) => {
    expect(find(everyTestRuns, 'src/a.test.ts', `${call}('x', () => {})`)).toHaveLength(1)
    expect(find(everyTestRuns, 'src/a.test.ts', `// ${call}\nit('${call}', f)`)).toEqual([])
  })

  it('a test that skips itself says why', () => {
    expect(find(everyTestRuns, 'src/a.test.ts', 'context.skip()')).toHaveLength(1)
    expect(find(everyTestRuns, 'src/a.test.ts', "context.skip('needs Linux')")).toEqual([])
    expect(find(everyTestRuns, 'src/a.test.ts', "outbox.skip(id, 'no')")).toEqual([])
  })

  it.each([
    'const at = Math.random()',
    'fc.assert(fc.property(a, b))',
    'fc.assert(fc.property(a, b), { numRuns: 30 })',
    'fc.sample(text, 5)',
    'const options = { seed, interruptAfterTimeLimit: 8000 }',
    'const machine = { clock, random: systemRandom, scheduler }',
    'open({ clock: world.clock, random: systemRandom })',
  ])('%s is chance without a seed, or ends by the clock', (text) => {
    expect(find(chanceHasASeed, 'src/a.test.ts', text)).toHaveLength(1)
    expect(find(chanceHasASeed, 'test/chaos/a.ts', text)).toHaveLength(1)
  })

  it.each([
    'fc.assert(fc.property(a, b), { seed: 3 })',
    'fc.sample(text, { numRuns: 5, seed })',
    'const guid = randomUUID()',
    'const machine = { clock: systemClock, random: systemRandom }',
    'const machine = { clock, random: seededChance() }',
    "const text = 'Math.random()'",
  ])('%s is fine', (text) => {
    expect(find(chanceHasASeed, 'src/a.test.ts', text)).toEqual([])
  })
})

describe('calls that read from the machine', () => {
  it.each([
    ['Date.now()', 'take a Clock'],
    ['const read = Date.now', 'take a Clock'],
    ['new Date()', 'take a Clock'],
    ['Date()', 'take a Clock'],
    ['performance.now()', 'take a Clock'],
    ['process.hrtime.bigint()', 'take a Clock'],
    ["import { performance } from 'node:perf_hooks'", 'take a Clock'],
    ['Math.random()', 'take a Random'],
    ['crypto.randomUUID()', 'take a Random'],
    ["import { randomBytes } from 'node:crypto'", 'take a Random'],
    ["import { randomBytes as bytes } from 'node:crypto'", 'take a Random'],
    ['setTimeout(f, 1)', 'take a Scheduler'],
    ['setInterval(f, 1)', 'take a Scheduler'],
    ['globalThis.setImmediate(f)', 'take a Scheduler'],
    ['queueMicrotask(f)', 'take a Scheduler'],
    ['AbortSignal.timeout(5)', 'take a Scheduler'],
    ["import { setTimeout as pause } from 'node:timers/promises'", 'take a Scheduler'],
    ['await fetch(url)', 'take the connection as an argument'],
    ['const options = { fetch }', 'take the connection as an argument'],
  ])('%s is found and the message says: %s', (text, instead) => {
    const findings = find(machineIsHandedIn, 'src/runs/a.ts', `// Why.\n${text}\n`)
    expect(findings[0]).toMatch(/^src\/runs\/a\.ts:2 /)
    expect(findings[0]).toContain(instead)
  })

  it.each([
    'new Date(ms)',
    'scheduler.setTimeout(f)',
    'options.fetch(url)',
    '// Date.now()',
    "const text = 'Math.random()'",
    'interface A { fetch: typeof globalThis }',
    'clock.now()',
    "import { createHash } from 'node:crypto'",
  ])('%s is fine', (text) => {
    expect(find(machineIsHandedIn, 'src/runs/a.ts', text)).toEqual([])
  })

  it('the file whose task it is may do so, and so may a test and a page in a browser', () => {
    expect(find(machineIsHandedIn, 'src/clock.ts', 'Date.now()')).toEqual([])
    expect(find(machineIsHandedIn, 'src/clock.ts', 'Math.random()')).toHaveLength(1)
    expect(find(machineIsHandedIn, 'src/runs/a.test.ts', 'setTimeout(f, 1)')).toEqual([])
    expect(find(machineIsHandedIn, 'src/http/page.js', 'fetch(url)')).toEqual([])
  })
})

describe('import rules', () => {
  it.each([
    ['src/domain/a.ts', "import type { B } from '../errors.ts'", 'src/errors.ts'],
    ['src/domain/a.ts', "import { join } from 'node:path'", 'node:path'],
    ['src/domain/a.ts', "export * from '../ids.ts'", 'src/ids.ts'],
    ['src/domain/a.ts', "type B = import('../ids.ts').B", 'src/ids.ts'],
    ['src/store.ts', "import { a } from './errors.ts'", 'src/errors.ts'],
    ['src/stores/sql/a.ts', "import { a } from '../../http/b.ts'", 'src/http/b.ts'],
    ['src/stores/sql/a.ts', "const a = await import('fastify')", 'fastify'],
    ['src/simulator/a.ts', "import { a } from '../github/errors.ts'", 'src/github/errors.ts'],
    ['src/outbox/a.ts', "import { a } from '../github/client.ts'", 'src/github/client.ts'],
    ['src/outbox/a.ts', "import { a } from '../github/errors.ts'", 'src/github/errors.ts'],
    ['src/outbox/a.ts', "import { a } from '../github.ts'", 'src/github.ts'],
    ['src/outbox/a.ts', "import { a } from '../runs/b.ts'", 'src/runs/b.ts'],
    ['src/cli/runs/a.ts', "import { a } from '../../http/app.ts'", 'src/http/app.ts'],
    ['src/operations/a.ts', "import { a } from '../http/app.ts'", 'src/http/app.ts'],
    ['src/runs/a.ts', "import { a } from '../not-in-the-table.ts'", 'src/not-in-the-table.ts'],
  ])('%s with %s goes the wrong way', (path, text, target) => {
    const findings = find(importDirection, path, text)
    expect(findings).toHaveLength(1)
    expect(findings[0]).toContain(`${path}:1 imports ${target}; `)
  })

  it.each([
    ['src/domain/a.ts', "import { b } from './b.ts'"],
    ['src/store.ts', "import type { b } from './domain/b.ts'"],
    ['src/stores/drivers/a.ts', "import pg from 'pg'"],
    ['src/stores/drivers/a.ts', "import { DatabaseSync } from 'node:sqlite'"],
    ['src/stores/drivers/a.ts', "import { b } from '../../errors.ts'"],
    ['src/github-outbox/a.ts', "import { b } from '../github/errors.ts'"],
    ['src/domain/a.test.ts', "import { it } from 'vitest'"],
  ])('%s with %s goes the right way', (path, text) => {
    expect(find(importDirection, path, text)).toEqual([])
  })

  it.each(importTable)('$name imports the parts that its row names and no other', (from) => {
    for (const to of importTable.filter((part) => part !== from)) {
      const text = `import '${specifier(fileOf(from), fileOf(to))}'`
      const findings = find(importDirection, fileOf(from), text)
      expect(findings, to.name).toHaveLength(from.parts.includes(to.name) ? 0 : 1)
    }
  })

  function fileOf({ places: [place = ''] }: Part): string {
    return place.endsWith('/') ? `${place}made-up.ts` : place
  }

  function specifier(from: string, to: string): string {
    const path = posix.relative(posix.dirname(from), to)
    return path.startsWith('.') ? path : `./${path}`
  }

  it('a file without a row in the table is found', () => {
    expect(find(importDirection, 'src/made-up.ts', '')).toHaveLength(1)
    expect(find(importDirection, 'src/made-up/a.ts', '')).toHaveLength(1)
  })

  const table = (...rows: string[]): string =>
    ['## Folders, in reading order', '', '| a | b | c | d | e |', '| - | - | - | - | - |', ...rows]
      .join('\n')
      .concat('\n')

  it('a table that names a lower part, or one twice, or that is missing, is refused', () => {
    const [low, high] = ['| low | `src/low` | – | – | – |', '| high | `src/high` | – | low | – |']
    expect(readImportTable(table(low, high))).toMatchObject([{ parts: [] }, { parts: ['low'] }])
    expect(() => readImportTable(table(high, low))).toThrow('high names low, which is not above it')
    expect(() => readImportTable(table(low, low))).toThrow('the part low has two rows')
    expect(() => readImportTable('# Nothing here')).toThrow('no table')
  })

  it.each(['src/http/a.ts', 'src/cli/a.ts', 'src/runs/a.ts'])('%s may not name a store', (path) => {
    const text = "import { open } from '../stores/open.ts'"
    expect(find(storesAreNamedOnce, path, text)).toHaveLength(1)
  })

  it('the file that opens stores, stores and tests may name a store', () => {
    const text = "import { open } from './stores/open.ts'"
    expect(find(storesAreNamedOnce, 'src/open-store.ts', text)).toEqual([])
    expect(find(storesAreNamedOnce, 'src/a.test.ts', text)).toEqual([])
    expect(find(storesAreNamedOnce, 'bench/main.ts', "import '../src/stores/a.ts'")).toEqual([])
  })

  it('a verb may not bypass the line of a run when it writes deliveries', () => {
    const text = "import { selectDeliveries, writeDeliveries } from '../tables/delivery-table.ts'"
    expect(find(deliveriesAreStoredOnce, 'src/stores/verbs/a.ts', text)).toHaveLength(1)
    const home = 'src/stores/verbs/outbox/store-deliveries.ts'
    expect(find(deliveriesAreStoredOnce, home, text)).toEqual([])
  })

  it.each(['github-status', 'telegram', 'Slack'])('%s may not be named in the domain', (name) => {
    const text = `// Why.\nconst isIt = channel === '${name}'\n`
    for (const home of ['src/domain/outbox/a.ts', 'src/stores/verbs/a.ts', 'src/outbox/a.ts']) {
      expect(find(channelsStayHome, home, text)).toEqual([
        expect.stringContaining(`${home}:2 names ${name}; declare it`),
      ])
    }
    expect(find(channelsStayHome, 'src/channels/a.ts', text)).toEqual([])
    expect(find(channelsStayHome, 'src/domain/outbox/a.test.ts', text)).toEqual([])
  })

  it.each(["import pg from 'pg'", "import 'node:sqlite'", "import './postgres-url.ts'"])(
    '%s is only allowed where databases are named',
    (text) => {
      expect(find(dialectsStayHome, 'src/runs/a.ts', text)).toHaveLength(1)
      expect(find(dialectsStayHome, 'src/settings/a.ts', text)).toEqual([])
      expect(find(dialectsStayHome, 'src/open-store.ts', text)).toEqual([])
    },
  )
})

describe('package rules', () => {
  it('an export or program without a file is found, also below a condition', () => {
    const entries = { exports: { '.': { import: './a.ts' } }, bin: { x: 'bin/x.mjs' } }
    expect(missingEntries(entries, () => false)).toHaveLength(2)
    expect(missingEntries(entries, () => true)).toEqual([])
  })

  it('an export that is built is found only when its source is missing', () => {
    const entries = { exports: { '.': { types: './dist/a.d.ts', default: './dist/a.js' } } }
    expect(missingEntries(entries, (path) => path === './src/a.ts')).toEqual([])
    expect(missingEntries(entries, (path) => path.startsWith('./dist/'))).toHaveLength(2)
  })

  it("a registry's address in the lock file is found", () => {
    const lock = '{\n  "a": {\n    "resolved": "https://example.org/a.tgz"\n  }\n}'
    expect(resolvedAddresses(lock)[0]).toContain('package-lock.json:3 ')
    expect(resolvedAddresses('{ "description": "resolved: yes" }')).toEqual([])
    expect(resolvedAddresses('  "resolved": "scripts/node",')).toEqual([])
  })

  it('a package without a checksum is found, and one that runs something when installed', () => {
    const lock = (packages: object) => JSON.stringify({ packages: { '': {}, ...packages } })
    const integrity = 'sha512-AAAA'
    expect(looseEnds(lock({ 'node_modules/a': {} }))[0]).toContain(
      'node_modules/a has no integrity',
    )
    const scripted = { 'node_modules/a': { integrity, hasInstallScript: true } }
    expect(looseEnds(lock(scripted))[0]).toContain('node_modules/a has an install script')
    const ours = { 'node_modules/b': { resolved: 'scripts/b', link: true }, 'scripts/b': {} }
    expect(looseEnds(lock({ 'node_modules/a': { integrity }, ...ours }))).toEqual([])
  })
})

describe('the repository', () => {
  const ours = ['src', 'test', 'bench', 'scripts', 'bin', 'examples']
  const sources = readSources(ours.filter((folder) => existsSync(join(repository, folder))))
  const everywhere: Readonly<Record<string, Rule>> = {
    'has no line over 100 columns': lineLength,
    'has no file over 400 lines': fileLength,
    'has no function over 70 lines': functionLength,
    'has no name that says nothing': namesSaySomething,
    'names its files in kebab-case': kebabCaseNames,
    'opens every file with a comment': opensWithComment,
    'has nothing left over': nothingLeftOver,
    'skips no test without a word': everyTestRuns,
    'has a seed for chance in tests': chanceHasASeed,
    'asks the machine for time, chance and timers in one place each': machineIsHandedIn,
    'imports in one direction': importDirection,
    'names concrete stores where they are opened alone': storesAreNamedOnce,
    'writes deliveries in one place': deliveriesAreStoredOnce,
    'keeps the names of databases where they belong': dialectsStayHome,
    'names channels where they are declared alone': channelsStayHome,
  }

  it.each(Object.entries(everywhere))('%s', (_name, rule) => {
    expect(sources.flatMap(rule)).toEqual([])
  })

  it('is read by these rules', () => {
    expect(sources.map(({ path }) => path)).toContain('src/clock.ts')
  })

  it('has a file for everything that package.json names', () => {
    const entries = JSON.parse(read('package.json')) as PackageEntries
    expect(missingEntries(entries, (path) => existsSync(join(repository, path)))).toEqual([])
  })

  it('locks packages without the address of a registry', () => {
    expect(resolvedAddresses(read('package-lock.json'))).toEqual([])
  })

  it('installs nothing that is not locked, and runs nothing while it installs', () => {
    expect(looseEnds(read('package-lock.json'))).toEqual([])
    expect(JSON.parse(read('package.json'))).not.toHaveProperty('allowScripts')
  })

  it('locks a Node for every platform that people work on', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { bin?: { node?: string }; os?: string; cpu?: string }>
    }
    const nodes = Object.values(packages).filter(({ bin }) => bin?.node !== undefined)
    const platforms = nodes.map(({ os, cpu }) => `${os}-${cpu}`).toSorted()
    const linux = ['linux-arm64', 'linux-x64']
    expect(platforms).toEqual(['darwin-arm64', 'darwin-x64', ...linux, 'win32-x64'])
  })

  function read(path: string): string {
    return readFileSync(join(repository, path), 'utf8')
  }
})
