/** Goal: whoever has no token learns which address needs one, and where that address came from. */
import { expect, it } from 'vitest'
import { bearerFor } from './server-client.ts'

const inRun = { HOLDFAST_URL: 'http://127.0.0.1:9', HOLDFAST_RUN_ID: 'run_1' }

it.each([
  ['--url', {}, /^--url needs a token/],
  ['--url', inRun, /^--url needs a token/],
  ['HOLDFAST_URL', {}, /^HOLDFAST_URL needs a token/],
  ['HOLDFAST_URL', inRun, /^HOLDFAST_URL is the address that the command of a run gets/],
] as const)('%s without a token, with %o, is refused by its name', (address, env, words) => {
  expect(() => bearerFor({ env, cwd: '/' }, undefined, address)).toThrow(words)
})
