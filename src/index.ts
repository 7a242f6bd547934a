/** What `import … from 'holdfast'` gives. */
export { defineConfig } from './config.ts'
export type {
  ChannelConfig,
  CommandConfig,
  Config,
  EventFilter,
  IncomingEvent,
  PermissionsConfig,
  PublishConfig,
  RetentionConfig,
  RetryConfig,
  RunTypeConfig,
  When,
} from './config.ts'
export type { ClaimReason } from './domain/claim.ts'
export type { Outcome, RunState, Verdict } from './domain/run.ts'
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
export { StopWork, type StopReason } from './executor.ts'
export { StepFailedError, StepNotDone, StepTimeoutError, StepUsageError } from './step-errors.ts'
export type { RunGitHub } from './github/run-client.ts'
export type { Log } from './log.ts'
export type {
  HandlerResult,
  RunContext,
  RunHandler,
  StepCall,
  StepOptions,
  StepWork,
} from './run-handler.ts'
export type { LeaseView } from './runs/runs.ts'
export type { PublishedOutput } from './library/find-output.ts'
export type { GitHubAccess } from './library/github-access.ts'
export type { Gate, GateOptions, Holdfast, PublicRun, Published } from './library/holdfast.ts'
export { openHoldfast, type OpenOptions } from './library/open-holdfast.ts'
export type { Completion, Output, RunClaim } from './library/requests.ts'
export { SettingsError } from './settings/settings-error.ts'
