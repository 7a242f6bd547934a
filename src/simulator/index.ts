/**
 * Simulated outside worlds, for tests of a bot from end to end: the simulated GitHub.
 */
export { createGitHubSimulator, serveSimulator } from './github/simulator.ts'
export type { GitHubSimulator } from './github/simulator.ts'
export type { GitHubSimulatorOptions, SimulatedAppOptions } from './github/options.ts'
export type { ServedSimulator, ServeOptions } from './github/server.ts'
export type { GitHubAnswer, GitHubRequest, ReceivedRequest } from './github/request.ts'
export type { Exchange, Fault, Outcome } from './github/faults/fault.ts'
export type { FaultHandle, FaultScript, FaultTarget } from './github/faults/script.ts'
export type { ContentLimits, LimitForm } from './github/rate-limit.ts'
export type { Happening } from './github/state/happening.ts'
export type {
  SimulatedCheckRun,
  SimulatedComment,
  SimulatedRepository,
  SimulatedReview,
  SimulatedStatus,
  SimulatedThread,
} from './github/truth.ts'
