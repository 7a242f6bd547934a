/** The conformance suite on PostgreSQL: its part about runs. */
import { openOnPostgres } from '../open-on-postgres.ts'
import { exerciseStore } from '../store.suite.ts'

exerciseStore('PostgreSQL', openOnPostgres, 'runs')
