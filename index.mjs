/**
 * What `import … from 'holdfast'` loads: the sources in a clone, what was built from them in an
 * installed package. Node runs TypeScript, but not below node_modules, and package.json cannot name
 * two places of which one is missing. So the choice is made here, by what is there, and packing
 * changes no file that git knows. The sources come first: a build left over in a clone is never
 * run. `require` keeps it synchronous, so that a CommonJS project can load the package too, and
 * loads nothing before the version of Node was checked.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { refuseOldNode } from './bin/needed-node.mjs'

refuseOldNode()

const sources = new URL('src/index.ts', import.meta.url)
const entry = existsSync(sources) ? './src/index.ts' : './dist/index.js'

export const {
  ConflictError,
  ForbiddenError,
  HoldfastError,
  InvalidInputError,
  NotFoundError,
  OutputUnknownError,
  SettingsError,
  SetupError,
  StepFailedError,
  StepNotDone,
  StepTimeoutError,
  StepUsageError,
  StopWork,
  StoreContendedError,
  StoreUnavailableError,
  defineConfig,
  openHoldfast,
} = createRequire(import.meta.url)(entry)
