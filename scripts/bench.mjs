/**
 * `npm run bench`: sets up what is missing, then measures. Arguments go to the benchmark.
 */
import { runChild } from './child.mjs'
import { installPeers, setup } from './setup.mjs'

const node = await setup()
const postgres = await runChild(node, ['test/postgres/install-binaries.ts'])
if (postgres.code !== 0) process.exit(postgres.code)
const redis = await runChild(node, ['test/redis/install-binaries.ts'])
if (redis.code !== 0) process.exit(redis.code)
// `--smoke` leaves the other systems out.
if (!process.argv.includes('--smoke')) await installPeers()
const { code } = await runChild(node, ['bench/main.ts', ...process.argv.slice(2)])
process.exit(code)
