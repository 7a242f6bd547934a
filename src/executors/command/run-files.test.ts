import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeRunFiles, removeRunFiles } from './run-files.ts'

const content = {
  input: '{"id":"run_1"}',
  mcpUrl: 'http://127.0.0.1:8787/mcp',
  runToken: 'hfr_run_1.s3cr3t',
}

test('the folder and its files are for their owner alone', async () => {
  const files = await makeRunFiles(content)
  expect(statSync(files.folder).mode & 0o777).toBe(0o700)
  expect(statSync(files.input).mode & 0o777).toBe(0o600)
  expect(statSync(files.mcpConfig).mode & 0o777).toBe(0o600)
  expect(readdirSync(files.folder).toSorted()).toEqual(['input.json', 'mcp.json'])
  await removeRunFiles(files)
})

test('the command finds the run and the configuration of its MCP client', async () => {
  const files = await makeRunFiles(content)
  expect(readFileSync(files.input, 'utf8')).toBe('{"id":"run_1"}')
  expect(JSON.parse(readFileSync(files.mcpConfig, 'utf8'))).toEqual({
    mcpServers: {
      holdfast: {
        type: 'http',
        url: 'http://127.0.0.1:8787/mcp',
        headers: { Authorization: 'Bearer hfr_run_1.s3cr3t' },
      },
    },
  })
  await removeRunFiles(files)
})

test('two executions have two folders, and each is removed with all that is in it', async () => {
  const [one, other] = [await makeRunFiles(content), await makeRunFiles(content)]
  expect(one.folder).not.toBe(other.folder)
  mkdirSync(join(one.folder, 'a', 'b'), { recursive: true })
  expect(await removeRunFiles(one)).toBe(true)
  expect([existsSync(one.folder), existsSync(other.folder)]).toEqual([false, true])
  expect(await removeRunFiles(one)).toBe(true)
  await removeRunFiles(other)
})

test('a place that cannot be written to is an error with the remedy', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-files-'))
  await expect(makeRunFiles(content, join(parent, 'missing'))).rejects.toMatchObject({
    code: 'run_files',
    message: expect.stringContaining('ENOENT'),
    hint: expect.stringContaining('TMPDIR'),
  })
})
