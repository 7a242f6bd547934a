import { expect, test } from 'vitest'
import { commandEnvironment } from './command-environment.ts'

const run = {
  runId: 'run_1',
  runToken: 'hfr_run_1.s3cr3t',
  url: 'http://127.0.0.1:8787',
  mcpUrl: 'http://127.0.0.1:8787/mcp',
}
const files = { input: '/t/i', summary: '/t/s', result: '/t/r', mcpConfig: '/t/m' }
const ofRun = {
  HOLDFAST_RUN_ID: 'run_1',
  HOLDFAST_RUN_TOKEN: 'hfr_run_1.s3cr3t',
  HOLDFAST_URL: 'http://127.0.0.1:8787',
  HOLDFAST_MCP_URL: 'http://127.0.0.1:8787/mcp',
  HOLDFAST_INPUT_FILE: '/t/i',
  HOLDFAST_SUMMARY_FILE: '/t/s',
  HOLDFAST_RESULT_FILE: '/t/r',
  HOLDFAST_MCP_CONFIG: '/t/m',
}

test('a command gets what it needs, what is listed, and nothing else', () => {
  const own = {
    PATH: '/bin',
    HOME: '/home/me',
    LANG: 'C.UTF-8',
    TMPDIR: '/tmp',
    NOTION_TOKEN: 'hunter2',
    HOLDFAST_ADMIN_TOKEN: 'hfa_x',
    GITHUB_TOKEN: 'ghp_x',
  }
  expect(commandEnvironment(own, ['NOTION_TOKEN'], run, files).env).toEqual({
    PATH: '/bin',
    HOME: '/home/me',
    LANG: 'C.UTF-8',
    TMPDIR: '/tmp',
    NOTION_TOKEN: 'hunter2',
    ...ofRun,
  })
})

test('a variable that is not set stays unset, and an empty one empty', () => {
  const { env, secrets } = commandEnvironment({ EMPTY: '' }, ['EMPTY', 'MISSING'], run, files)
  expect(env).toEqual({ EMPTY: '', ...ofRun })
  expect(secrets).toEqual(['', 'hfr_run_1.s3cr3t', 's3cr3t'])
})

test('listed values and the run token are secrets, and the usual variables are not', () => {
  const own = { HOME: '/home/me', API_KEY: 'hunter2' }
  const { secrets } = commandEnvironment(own, ['HOME', 'API_KEY'], run, files)
  expect(secrets).toEqual(['hunter2', 'hfr_run_1.s3cr3t', 's3cr3t'])
})

test("a listed name does not replace the run's own variables", () => {
  const own = { HOLDFAST_RUN_TOKEN: 'of another run', HOLDFAST_URL: 'http://elsewhere' }
  const { env, secrets } = commandEnvironment(own, Object.keys(own), run, files)
  expect(env).toEqual(ofRun)
  expect(secrets).not.toContain('of another run')
})
