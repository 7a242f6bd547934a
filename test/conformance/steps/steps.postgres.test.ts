/** The conformance suite on PostgreSQL: its part about steps. */
import { openOnPostgres } from '../open-on-postgres.ts'
import { exerciseStore } from '../store.suite.ts'

exerciseStore('PostgreSQL', openOnPostgres, 'steps')
