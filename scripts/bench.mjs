/**
 * `npm run bench`: sets up what is missing, then measures. Arguments go to the benchmark.
 */
import { runChild } from './child.mjs'
import { setup } from './setup.mjs'

const node = await setup()
const postgres = await runChild(node, ['test/postgres/install-binaries.ts'])
if (postgres.code !== 0) process.exit(postgres.code)
const { code } = await runChild(node, ['bench/main.ts', ...process.argv.slice(2)])
process.exit(code)
