/**
 * How much one identity may write: there is a gap between two writes, a maximum per minute and per
 * hour, and no write while GitHub blocks us. Progress may use half of each window. Further messages
 * may use a quarter, and more while less than half of the window is used. The rest is for
 * everything else.
 *
 * The windows slide: a minute is counted in seconds and an hour in minutes. So at no moment were
 * more writes sent in the last minute or hour than allowed.
 */

export interface BudgetLimits {
  /** A limit of 0 is off. */
  readonly spacingMs: number
  readonly perMinute: number
  readonly perHour: number
}

/** `progress`: a later edit will replace it. `further`: a further message of a run. */
export type WriteKind = 'first' | 'progress' | 'further'

/** [start of the slot, all writes in it, how many were progress, how many were further messages] */
export type Slot = readonly [since: number, all: number, progress: number, further?: number]

export interface Budget {
  readonly identity: string
  readonly rev: number
  readonly lastWriteAt: number | null
  readonly seconds: readonly Slot[]
  readonly minutes: readonly Slot[]
  readonly blockedUntil: number | null
  readonly blockedReason: string | null
  /** When the first block of the present series began. A pause of an hour ends a series. */
  readonly blockedSince: number | null
  /** The earliest next write by its own limits. */
  readonly writesFrom: number | null
  /** The same for progress, if progress has to wait longer. */
  readonly progressFrom: number | null
  /** The same for further messages. */
  readonly furtherFrom: number | null
  readonly updatedAt: number
}

export type Grant =
  | { readonly granted: true; readonly budget: Budget }
  | {
      readonly granted: false
      readonly until: number
      readonly why: BudgetWait
      readonly budget: Budget
    }

/** `queue`: other deliveries wait longer. */
export type BudgetWait = 'blocked' | 'spacing' | 'minute' | 'hour' | 'queue'

interface Window {
  readonly slots: readonly Slot[]
  readonly slotMs: number
  readonly max: number
  readonly why: BudgetWait
}

const secondMs = 1000
const minuteMs = 60_000
const slotsPerWindow = 60

export function newBudget(identity: string, now: number): Budget {
  return {
    identity,
    rev: 0,
    lastWriteAt: null,
    seconds: [],
    minutes: [],
    blockedUntil: null,
    blockedReason: null,
    blockedSince: null,
    writesFrom: null,
    progressFrom: null,
    furtherFrom: null,
    updatedAt: now,
  }
}

export function takeWrite(
  budget: Budget,
  limits: BudgetLimits,
  kind: WriteKind,
  now: number,
): Grant {
  const { blockedUntil, lastWriteAt } = budget
  if (blockedUntil !== null && blockedUntil > now) {
    return { granted: false, until: blockedUntil, why: 'blocked', budget }
  }
  for (const window of windowsOf(budget, limits)) {
    const until = freeAt(window, kind, now)
    if (until > now) return waitUntil(budget, until, window.why, kind)
  }
  // After the clock was set back, the last write is in the future. That must not stop all writes.
  const sinceLast = lastWriteAt === null ? Infinity : Math.abs(now - lastWriteAt)
  if (sinceLast < limits.spacingMs) {
    const until = now + limits.spacingMs - sinceLast
    return waitUntil(budget, until, 'spacing', 'first')
  }
  return {
    granted: true,
    budget: {
      ...budget,
      lastWriteAt: now,
      seconds: withWrite(budget.seconds, secondMs, kind, now),
      minutes: withWrite(budget.minutes, minuteMs, kind, now),
      blockedUntil: null,
      blockedReason: null,
      blockedSince: null,
      writesFrom: limits.spacingMs > 0 ? now + limits.spacingMs : null,
      // A write of another kind does not make room for these, so their wait stays.
      progressFrom: kind === 'progress' ? null : budget.progressFrom,
      furtherFrom: kind === 'further' ? null : budget.furtherFrom,
      updatedAt: now,
    },
  }
}

const fromField = {
  first: 'writesFrom',
  progress: 'progressFrom',
  further: 'furtherFrom',
} as const satisfies Record<WriteKind, keyof Budget>

function waitUntil(budget: Budget, until: number, why: BudgetWait, kind: WriteKind): Grant {
  return { granted: false, until, why, budget: { ...budget, [fromField[kind]]: until } }
}

/** Never shortens a block that is already longer. */
export function block(budget: Budget, until: number, reason: string, now: number): Budget {
  const blockedUntil = Math.max(until, budget.blockedUntil ?? 0)
  const blockedSince = blockedSinceOf(budget, now)
  return { ...budget, blockedUntil, blockedReason: reason, blockedSince, updatedAt: now }
}

/** A pause of this length ends a series of blocks. */
const pauseMs = 3_600_000

function blockedSinceOf({ blockedUntil, blockedSince }: Budget, now: number): number {
  const goesOn = blockedUntil !== null && blockedSince !== null && now - blockedUntil < pauseMs
  return goesOn ? blockedSince : now
}

const refusalMsMin = 60_000
const refusalMsMax = 900_000

/**
 * GitHub refuses the credentials, or the App is not installed. The longer that lasts, the more
 * rarely we ask. A refusal during a block does not make the block longer.
 */
export function refuse(budget: Budget, reason: string, now: number): Budget {
  if (budget.blockedUntil !== null && budget.blockedUntil > now) return budget
  const lastedMs = now - blockedSinceOf(budget, now)
  const waitMs = Math.min(refusalMsMax, Math.max(refusalMsMin, lastedMs))
  return block(budget, now + waitMs, reason, now)
}

/** An operator lifts the block, so writes may be tried now. */
export function unblock(budget: Budget, now: number): Budget {
  return {
    ...budget,
    blockedUntil: null,
    blockedReason: null,
    blockedSince: null,
    writesFrom: null,
    progressFrom: null,
    furtherFrom: null,
    updatedAt: now,
  }
}

interface Use {
  readonly all: number
  readonly progress: number
  readonly further: number
}

export interface BudgetUse {
  readonly minute: Use
  readonly hour: Use
}

export function useOf(budget: Budget, now: number): BudgetUse {
  return {
    minute: sumOf(inWindow(budget.seconds, secondMs, now)),
    hour: sumOf(inWindow(budget.minutes, minuteMs, now)),
  }
}

function windowsOf(budget: Budget, limits: BudgetLimits): readonly Window[] {
  const { seconds, minutes } = budget
  const { perMinute, perHour } = limits
  const windows: readonly Window[] = [
    { slots: seconds, slotMs: secondMs, max: perMinute, why: 'minute' },
    { slots: minutes, slotMs: minuteMs, max: perHour, why: 'hour' },
  ]
  return windows.filter(({ max }) => max > 0)
}

/** When enough of the oldest writes have left the window to allow one more. */
function freeAt(window: Window, kind: WriteKind, now: number): number {
  const { slotMs, max } = window
  const slots = inWindow(window.slots, slotMs, now)
  let use = sumOf(slots)
  let until = now
  for (const [since, all, progress, further = 0] of slots) {
    if (hasRoom(use, kind, max)) return until
    use = {
      all: use.all - all,
      progress: use.progress - progress,
      further: use.further - further,
    }
    until = since + slotMs * (slotsPerWindow + 1)
  }
  return until
}

function hasRoom({ all, progress, further }: Use, kind: WriteKind, max: number): boolean {
  if (all >= max) return false
  const half = Math.max(1, Math.floor(max / 2))
  if (kind === 'progress') return progress < half
  return kind === 'first' || all < half || further < Math.floor(max / 4)
}

/** A slot counts until its last write is a whole window old. */
function inWindow(slots: readonly Slot[], slotMs: number, now: number): readonly Slot[] {
  return slots.filter(
    ([since]) => since + slotMs * (slotsPerWindow + 1) > now && since <= now + slotMs,
  )
}

function sumOf(slots: readonly Slot[]): Use {
  return slots.reduce(
    (sum, [, all, progress, further = 0]) => ({
      all: sum.all + all,
      progress: sum.progress + progress,
      further: sum.further + further,
    }),
    { all: 0, progress: 0, further: 0 },
  )
}

function withWrite(
  slots: readonly Slot[],
  slotMs: number,
  kind: WriteKind,
  now: number,
): readonly Slot[] {
  const since = now - (now % slotMs)
  const kept = inWindow(slots, slotMs, now).filter((slot) => slot[0] !== since)
  const [, all, progress, further = 0] = slots.find((slot) => slot[0] === since) ?? [since, 0, 0]
  const one = (counts: WriteKind): number => (kind === counts ? 1 : 0)
  return [...kept, [since, all + 1, progress + one('progress'), further + one('further')]]
}
