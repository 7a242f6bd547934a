/** The conformance suite of publishing on PostgreSQL. */
import { openOnPostgres } from '../open-on-postgres.ts'
import { gitHubCases } from './publisher-github.ts'
import { exercisePublishing } from './publisher.suite.ts'

exercisePublishing('PostgreSQL', openOnPostgres, gitHubCases)
