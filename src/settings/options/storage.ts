/** Settings of the database. */
import { option } from './option.ts'
import { databaseAddress, line } from './value-kind.ts'

export const storageOptions = {
  dataDir: option({
    env: 'HOLDFAST_DATA_DIR',
    kind: line('a path'),
    unit: null,
    default: './data',
    summary: 'Folder for the database file and the secrets made at the first start',
    advice:
      'Relative to the working directory; made with mode 0700. Use a local disk: SQLite cannot ' +
      'lock files safely on a network file system.',
    secret: 'no',
  }),
  databaseUrl: option({
    env: 'HOLDFAST_DATABASE_URL',
    kind: databaseAddress(),
    unit: null,
    default: null,
    defaultText: '`sqlite:` with `holdfast.db` in the data folder',
    summary: 'The database: sqlite:PATH or postgres://USER@HOST/NAME',
    advice:
      'SQLite needs nothing else and allows one server. With PostgreSQL any number of machines ' +
      'share the work. `sqlite::memory:` loses everything at exit. A SQLite file outside the ' +
      'data folder needs mode 0600, in a folder that only its owner can write to.',
    secret: 'password',
  }),
} as const
