/**
 * Goal: a program that makes no client of a run does not load Octokit.
 * Method: a process of its own notes every module that it loads.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const program = `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  const isLoaded = () => loaded.some((url) => url.includes('@octokit/core'))
  const { runClient } = await import(process.argv[1])
  const before = [loaded.some((url) => url.endsWith('run-fetch.ts')), isLoaded()]
  await runClient({ connection: { apiUrl: 'http://127.0.0.1' }, repository: {} })
  console.log(JSON.stringify([...before, isLoaded()]))
`

it('Octokit is loaded with the first client, not with the module', async () => {
  const module = new URL('run-client.ts', import.meta.url).href
  const args = ['--input-type=module', '--eval', program, module]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(JSON.parse(stdout)).toEqual([true, false, true])
})
