/**
 * What a move is asked and what it answers. It names no driver: programs that use the library read
 * these types, and need not have the types of the PostgreSQL client.
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { TableReport } from './marks.ts'

export interface MoveOptions {
  /** The SQLite file. */
  readonly path: string
  /** The target, and the same address without its password, for people. */
  readonly url: string
  readonly to: string
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly onProgress?: (progress: MoveProgress) => void
}

export type MoveProgress =
  | { readonly what: 'begun' | 'copied' | 'marked' | 'released' }
  | {
      readonly what: 'copying' | 'verifying'
      readonly table: string
      readonly rows: number
      readonly of: number
    }

export interface MoveAnswer {
  /** `already`: an earlier move had finished. */
  readonly outcome: 'moved' | 'already'
  readonly storeId: string
  readonly movedAt: number
  readonly tables: readonly TableReport[]
  /** How many texts had characters that PostgreSQL cannot store. */
  readonly replaced: number
}

export interface UndoAnswer {
  /** `nothing`: the store is not moved, and the target has nothing of it. */
  readonly outcome: 'undone' | 'nothing'
  readonly storeId: string
}
