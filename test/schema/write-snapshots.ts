/** A program: writes sql/sqlite/schema.sql and sql/postgres/schema.sql again. `npm run schema`. */
import { startCluster } from '../postgres/cluster.ts'
import { createDatabase } from '../postgres/create-database.ts'
import { dumpPostgres, migrateDatabase } from './dump-postgres.ts'
import { dumpSqlite } from './dump-sqlite.ts'
import { writeSnapshot } from './snapshots.ts'

writeSnapshot('sqlite', dumpSqlite())
// The cluster ends with this process.
const cluster = await startCluster()
const { url } = await createDatabase(cluster.url)
await migrateDatabase(url)
writeSnapshot('postgres', await dumpPostgres(url))
console.log('wrote sql/sqlite/schema.sql and sql/postgres/schema.sql')
