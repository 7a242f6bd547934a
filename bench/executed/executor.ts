/**
 * The side of a measured process. The benchmark tells it how many runs to start, and it says how
 * many have finished. All peers are told and answer in this way, so its cost is the same for all.
 */
export interface Orders {
  /** How many runs to start now, beside those that are in work. */
  readonly start: number
}

export interface Report {
  /** The process is ready. */
  readonly ready?: true
  /** How many runs have finished since the last report. */
  readonly finished?: number
  /** Times from a claim until the function of its run began, in milliseconds. */
  readonly latencies?: readonly number[]
}

export function report(message: Report): void {
  process.send?.(message)
}

let finished = 0
let latencies: number[] = []

/** Counts a finished run. All that finish in one turn of the event loop are one report. */
export function runFinished(): void {
  finished++
  if (finished > 1) return
  setImmediate(() => {
    report({ finished, latencies })
    finished = 0
    latencies = []
  })
}

/** The same on all processes of this machine, in milliseconds with fractions. */
export const wallTime = (): number => performance.timeOrigin + performance.now()

/** A function began whose run was claimed at this time. */
export function runBegan(claimedAt: number): void {
  latencies.push(wallTime() - claimedAt)
}

/** Calls `start` once for every run. A run that fails ends the process, and so the benchmark. */
export function answerOrders(start: () => Promise<unknown>): void {
  process.on('message', (orders: Orders) => {
    for (let i = 0; i < orders.start; i++) {
      start().catch((error: unknown) => {
        process.stderr.write(`a run could not be started: ${String(error)}\n`)
        process.exit(1)
      })
    }
  })
  process.on('disconnect', () => process.exit(0))
  report({ ready: true })
}
