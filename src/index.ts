/** What `import … from 'holdfast'` gives. */
export { defineConfig, type Config } from './config.ts'
export {
  ConflictError,
  ForbiddenError,
  HoldfastError,
  InvalidInputError,
  NotFoundError,
  OutputUnknownError,
  SetupError,
  StoreContendedError,
  StoreUnavailableError,
} from './errors.ts'
export type { PublishedOutput } from './library/find-output.ts'
export type { GitHubAccess } from './library/github-access.ts'
export type { Gate, GateOptions, Holdfast, PublicRun, Published } from './library/holdfast.ts'
export { openHoldfast, type OpenOptions } from './library/open-holdfast.ts'
export type { Completion, Output, RunClaim } from './library/requests.ts'
export { SettingsError } from './settings/settings-error.ts'
