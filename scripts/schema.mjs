/**
 * `npm run schema`: after a new migration, writes the schema that both databases now have to
 * schema.sql beside the migrations.
 */
import { runChild } from './child.mjs'
import { setup } from './setup.mjs'

const node = await setup()
const postgres = await runChild(node, ['test/postgres/install-binaries.ts'])
if (postgres.code !== 0) process.exit(postgres.code)
const { code } = await runChild(node, ['test/schema/write-snapshots.ts'])
process.exit(code)
