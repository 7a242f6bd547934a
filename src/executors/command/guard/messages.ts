/**
 * What the node and its guard say to each other, over the channel that Node opens between a process
 * and its child. Every message has a limit: a start that of what a program can be given, and an end
 * that of the output which is kept.
 */

import type { ExecutionMarks } from '../processes.ts'

export type ToGuard =
  StartCommand | WatchCommand | WatchedStarted | WatchedExited | RenewCommand | StopCommand

export interface StartCommand {
  readonly type: 'start'
  /** Counted by the node. A run that is executed twice has two of them. */
  readonly id: number
  readonly runId: string
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Removed by the guard if the node is gone. */
  readonly folder: string | null
  readonly leaseMs: number
  /** Names the lease in what the thread that renews leases says. Null: it says nothing. */
  readonly leaseHash: string | null
  /** From SIGTERM to SIGKILL, for processes that a command leaves behind. */
  readonly graceMs: number
  /** How many bytes at the end of the output are kept. */
  readonly tailBytes: number
}

/** The node starts the command itself, after `watching` was answered. */
export interface WatchCommand {
  readonly type: 'watch'
  readonly id: number
  readonly marks: ExecutionMarks
  /** Removed by the guard if the node is gone. */
  readonly folder: string | null
  readonly leaseMs: number
}

/** Without it, the processes are found by their environment alone. */
export interface WatchedStarted {
  readonly type: 'watched-started'
  readonly id: number
  readonly pid: number
  /** Whether it leads a process group of its own. */
  readonly leadsGroup: boolean
}

/** Its first process has ended. What it left behind is ended too. */
export interface WatchedExited {
  readonly type: 'watched-exited'
  readonly id: number
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number
}

export interface RenewCommand {
  readonly type: 'renew'
  readonly id: number
  readonly leaseMs: number
}

export interface StopCommand {
  readonly type: 'stop'
  readonly id: number
  /** From SIGTERM to SIGKILL. 0 kills at once. */
  readonly graceMs: number
}

export type FromGuard = CommandStarted | CommandWatched | CommandEnded | CommandGone

/** From now on, what carries the marks of the command is killed with the lease or the node. */
export interface CommandWatched {
  readonly type: 'watching'
  readonly id: number
}

export interface CommandStarted {
  readonly type: 'started'
  readonly id: number
  /** Also the id of its process group. */
  readonly pid: number
}

export interface CommandEnded {
  readonly type: 'ended'
  readonly id: number
  readonly exitCode: number | null
  readonly signal: string | null
  readonly leaseEnded: boolean
  /** Why it could not be started. */
  readonly startFailure: StartFailure | null
  readonly tail: Uint8Array
  /** There was more output before the tail. */
  readonly cutOff: boolean
}

export interface StartFailure {
  /** Such as `ENOENT`. Never the error's text, which may quote an argument or a variable. */
  readonly code: string
  /** Whether the folder it should have been started in can be used. */
  readonly hasFolder: boolean
}

/** It has ended and none of its processes is left, or what is left cannot be killed. */
export interface CommandGone {
  readonly type: 'gone'
  readonly id: number
  /** It was killed because its lease was not renewed. */
  readonly leaseEnded: boolean
}
