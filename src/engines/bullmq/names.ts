/**
 * Names on Redis. Everything begins with the store's id, so that two installations on one Redis do
 * not meet. A job's id is all that a wake-up carries: the run and its fence.
 */
import type { WakeUp } from '../../engine.ts'

export class QueueNames {
  /** Before the name of a queue. */
  readonly prefix: string

  constructor(storeId: string) {
    this.prefix = `holdfast:${storeId}`
  }

  /** BullMQ separates the parts of a key by colons, so a queue's name can have none. */
  queue(type: string): string {
    return encodeURIComponent(type.toWellFormed())
  }

  /** The list in which BullMQ keeps the ids of the jobs that nobody has taken. */
  waitingList(type: string): string {
    return `${this.prefix}:${this.queue(type)}:wait`
  }

  /** Nothing is ever sent there. Redis counts who listens, and so knows who takes this type. */
  presenceChannel(type: string): string {
    return `${this.prefix}:listens:${this.queue(type)}`
  }

  get lostChannel(): string {
    return `${this.prefix}:lost`
  }

  get probe(): string {
    return `${this.prefix}:probe`
  }
}

/** BullMQ refuses ids that are whole numbers or have a colon. */
export function jobIdOf({ runId, fence }: WakeUp): string {
  return `${runId}-${fence}`
}

export function wakeUpOf(jobId: string, type: string): WakeUp {
  const at = jobId.lastIndexOf('-')
  return { runId: jobId.slice(0, at), fence: Number(jobId.slice(at + 1)), type }
}
