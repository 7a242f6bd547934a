/** What `import … from 'holdfast'` gives. */
export { defineConfig, type Config } from './config.ts'
export {
  ConflictError,
  HoldfastError,
  InvalidInputError,
  NotFoundError,
  SetupError,
  StoreContendedError,
  StoreUnavailableError,
} from './errors.ts'
export type { Gate, GateOptions, Holdfast, PublicRun, Published } from './library/holdfast.ts'
export { openHoldfast, type OpenOptions } from './library/open-holdfast.ts'
export type { Completion, Output, RunClaim } from './library/requests.ts'
