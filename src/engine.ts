/** placeholder until merged */
export interface WakeUp {
  readonly runId: string
  readonly fence: number
  readonly type: string
}
export interface EngineListener {
  runAvailable(wakeUp: WakeUp): Promise<void>
  runsLost(runIds: readonly string[]): void
}
export interface Engine {
  readonly name: 'embedded' | 'bullmq'
  announce(wakeUps: readonly WakeUp[]): void
  announceLost(runIds: readonly string[]): void
  listen(types: readonly string[], listener: EngineListener): void
  pause(type: string): void
  resume(type: string): void
  stop(): Promise<void>
}
