import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readResultFiles } from './result-files.ts'

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-results-'))
  return { summary: join(path, 'summary.md'), result: join(path, 'result.json') }
}

type Files = ReturnType<typeof folder>

describe('what a command wrote', () => {
  test('is its summary and its result', async () => {
    const files = folder()
    writeFileSync(files.summary, '# Fine\n\nAll **good** – really.\n')
    writeFileSync(files.result, '{"found":[1,2],"name":"é"}\n')
    expect(await readResultFiles(files, [])).toEqual({
      summary: '# Fine\n\nAll **good** – really.\n',
      result: { found: [1, 2], name: 'é' },
      problem: null,
    })
  })

  test.each(['', ' \n', null])(
    'is nothing if the files are empty or missing (%j)',
    async (text) => {
      const files = folder()
      if (text !== null) for (const path of Object.values(files)) writeFileSync(path, text)
      const nothing = { summary: null, result: null, problem: null }
      expect(await readResultFiles(files, [])).toEqual(nothing)
    },
  )

  test('may have 256 KB', async () => {
    const files = folder()
    writeFileSync(files.summary, 'x'.repeat(256 * 1024))
    writeFileSync(files.result, JSON.stringify('y'.repeat(256 * 1024 - 2)))
    const { summary, result, problem } = await readResultFiles(files, [])
    expect([summary?.length, String(result).length]).toEqual([256 * 1024, 256 * 1024 - 2])
    expect(problem).toBeNull()
  })

  test('has no number that is a secret, however many digits it has', async () => {
    const long = '12345678901234567890123'
    const files = folder()
    writeFileSync(files.result, `{"pin":48151623,"list":[${long},7],"other":1.50}`)
    const { result } = await readResultFiles(files, ['48151623', long])
    expect(result).toEqual({ pin: '***', list: ['***', 7], other: 1.5 })
  })

  test('is shown without the secrets in it', async () => {
    const files = folder()
    writeFileSync(files.summary, 'key: hunter2')
    writeFileSync(files.result, '{"hun\\u0074er2":{"key":["a hunter2",2,null,true]}}')
    expect(await readResultFiles(files, ['hunter2'])).toEqual({
      summary: 'key: ***',
      result: { '***': { key: ['a ***', 2, null, true] } },
      problem: null,
    })
  })
})

describe('a file is refused', () => {
  const elsewhere = join(mkdtempSync(join(tmpdir(), 'holdfast-results-')), 'secret')
  writeFileSync(elsewhere, '"content of another file"')

  test.each<[string, (path: string) => void, RegExp]>([
    ['that is a link', (path) => symlinkSync(elsewhere, path), /symbolic link/],
    ['that is a link to nothing', (path) => symlinkSync('/nowhere', path), /symbolic link/],
    ['that is a folder', (path) => mkdirSync(path), /not a regular file/],
    ['that is a pipe', (path) => execFileSync('mkfifo', [path]), /not a regular file/],
    [
      'that is larger than 256 KB',
      (path) => writeFileSync(path, 'x'.repeat(256 * 1024 + 1)),
      /larger than 256 KB/,
    ],
    ['that is not UTF-8', (path) => writeFileSync(path, Buffer.from([0x22, 0xff])), /UTF-8/],
    ['that has a NUL', (path) => writeFileSync(path, '"a\0"'), /NUL/],
  ])('%s', async (_what, make, why) => {
    for (const name of ['summary', 'result'] as const) {
      const files = folder()
      make(files[name])
      const { summary, result, problem } = await readResultFiles(files, [])
      expect([summary, result]).toEqual([null, null])
      expect(problem).toMatch(why)
      expect(problem).toContain(`The ${name} file`)
      expect(problem).not.toContain('another file')
    }
  })

  test('that is a socket', async () => {
    const files = folder()
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(files.result, resolve))
    expect((await readResultFiles(files, [])).problem).toMatch(/not a regular file/)
    server.close()
  })

  test.each([
    ['that is not JSON', 'secret words', /not valid JSON/],
    ['with more than one value', '{}{}', /not valid JSON/],
    ['with a number that JSON cannot store', '[1e999]', /too large for JSON/],
    ['that is nested too deeply', '['.repeat(100_000) + ']'.repeat(100_000), /nested too deeply/],
  ])('as a result %s', async (_what, text, why) => {
    const files: Files = folder()
    writeFileSync(files.summary, 'fine')
    writeFileSync(files.result, text)
    const { summary, result, problem } = await readResultFiles(files, [])
    expect([summary, result]).toEqual(['fine', null])
    expect(problem).toMatch(why)
    expect(problem).not.toContain('secret words')
  })

  test('and the other one too, and both are named', async () => {
    const files = folder()
    mkdirSync(files.summary)
    writeFileSync(files.result, 'x')
    const { problem } = await readResultFiles(files, [])
    expect(problem).toMatch(/^The summary file .*\. The result file .*\.$/)
  })
})
