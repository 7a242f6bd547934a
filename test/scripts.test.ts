/**
 * Goal: the last line of `npm test` reports every failure, and a started program ends as it was
 * asked to.
 * Method: fake reports of the test runner, and real child processes that get real signals.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}
interface FileResult {
  readonly name: string
  readonly status: string
  readonly startTime: number
  readonly endTime: number
  readonly assertionResults: readonly { readonly status: string }[]
}
interface Report {
  readonly testResults: readonly FileResult[]
}
interface TestCounts {
  readonly countTests: (report: Report | null, exitCode: number) => Counts
  readonly summaryLine: (counts: Counts) => string
  readonly slowestFiles: (report: Report | null, root: string) => string[]
}

const script = (name: string): string => new URL(`../scripts/${name}`, import.meta.url).href
const { countTests, slowestFiles, summaryLine } = (await import(
  script('test-counts.mjs')
)) as TestCounts

function lineFor(exitCode: number, ...files: [string, ...string[]][]): string {
  const testResults = files.map(([status, ...tests]) => {
    const assertionResults = tests.map((test) => ({ status: test }))
    return { name: 'a.test.ts', status, startTime: 0, endTime: 0, assertionResults }
  })
  return summaryLine(countTests({ testResults }, exitCode))
}

describe('the last line of the tests', () => {
  it('counts what passed and failed over all files', () => {
    const line = lineFor(1, ['passed', 'passed', 'passed'], ['failed', 'failed', 'passed'])
    expect(line).toBe('3 passed, 1 failed')
  })

  it('names skipped tests only when there are some', () => {
    expect(lineFor(0, ['passed', 'passed', 'skipped', 'todo'])).toBe(
      '1 passed, 0 failed, 2 skipped',
    )
  })

  it('counts a file that does not load', () => {
    expect(lineFor(1, ['passed', 'passed'], ['failed'])).toBe('1 passed, 1 failed')
  })

  it('counts a failed hook, whose tests do not fail themselves', () => {
    expect(lineFor(1, ['failed', 'skipped', 'passed'])).toBe('1 passed, 1 failed, 1 skipped')
  })

  it('counts an error outside every test', () => {
    expect(lineFor(1, ['passed', 'passed'])).toBe('1 passed, 1 failed')
  })

  it('says that nothing ran when no test was found', () => {
    expect(lineFor(1)).toBe('0 passed, 0 failed')
  })

  it('counts a run that ended without a report as failed', () => {
    expect(summaryLine(countTests(null, 1))).toBe('0 passed, 1 failed')
  })
})

describe('the slowest files', () => {
  const took = (name: string, seconds: number): FileResult => ({
    ...{ name: `/clone/${name}`, status: 'passed', assertionResults: [] },
    ...{ startTime: 5000, endTime: 5000 + seconds * 1000 },
  })

  it('are listed, the slowest first, ten at most', () => {
    const files = Array.from({ length: 12 }, (_, at) => took(`test/${at}.test.ts`, at))
    const lines = slowestFiles({ testResults: files }, '/clone')
    expect(lines.slice(0, 3)).toEqual([
      'Slowest of 12 files:',
      '   11.0 s  test/11.test.ts',
      '   10.0 s  test/10.test.ts',
    ])
    expect(lines).toHaveLength(11)
  })

  it('are not listed for a single file, or for a run without a report', () => {
    expect(slowestFiles({ testResults: [took('a.test.ts', 1)] }, '/clone')).toEqual([])
    expect(slowestFiles(null, '/clone')).toEqual([])
  })
})

/** A parent process that runs `program` through our script and ends with its exit code. */
function parentOf(program: string) {
  const parent = `
    const { runChild } = await import(${JSON.stringify(script('child.mjs'))})
    const { code } = await runChild(process.execPath, ['-e', ${JSON.stringify(program)}])
    process.exit(code)`
  return spawn(process.execPath, ['--input-type=module', '-e', parent], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

describe('a child program', () => {
  it('passes its exit code on', async () => {
    expect(await once(parentOf('process.exit(7)'), 'close')).toEqual([7, null])
  })

  it('that dies by a signal gives the same exit code as a shell', async () => {
    const parent = parentOf("process.kill(process.pid, 'SIGKILL')")
    expect(await once(parent, 'close')).toEqual([137, null])
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'gets every %s and may end in its own time',
    async (name) => {
      const parent = parentOf(`
      let count = 0
      process.on('${name}', () => {
        console.log('signal ' + ++count)
        if (count === 2) process.exit(3)
      })
      setInterval(() => {}, 1000)
      console.log('ready')`)
      const closed = once(parent, 'close')
      for (const line of ['ready', 'signal 1']) {
        const [chunk] = (await once(parent.stdout, 'data')) as [Buffer]
        expect(chunk.toString().trim()).toBe(line)
        parent.kill(name)
      }
      expect(await closed).toEqual([3, null])
    },
  )
})
