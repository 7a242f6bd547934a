/**
 * Counts the rare situations that really occurred: a rule proves nothing about a situation that
 * never happened. The counts come from the tables and from the requests that GitHub received, not
 * from the faults' plans. A situation that never occurred is listed with 0.
 */
import type { Facts } from './facts.ts'
import type { World } from './world.ts'

/** Kinds of writes, by method and path. */
const writes = {
  comment: /^(POST|PATCH) .*\/issues\/(\d+\/comments|comments\/\d+)$/,
  status: /^POST .*\/statuses\/\w+$/,
  'check run': /^(POST|PATCH) .*\/check-runs/,
  review: /^(POST|PUT) .*\/reviews/,
  label: /^POST .*\/labels$/,
  delete: /^DELETE /,
} as const satisfies Readonly<Record<string, RegExp>>

type Write = keyof typeof writes

const otherSituations = [
  'events of one pull request in the same second',
  'commits at the head of two pull requests',
  'names found to be the same repository',
  'worlds with several App installations',
  'restores of an older database',
  'purged runs',
  'clock changes',
  'pauses longer than a lease',
  'workers with a backlog',
  'worlds whose nodes execute runs',
  'steps in doubt that were done again',
  'steps confirmed after a doubt',
  'steps held for a person',
  'late results of steps',
  'effects whose process had died',
  'wake-ups lost',
] as const

export type Situation = (typeof otherSituations)[number] | `faults on ${Write} writes`

export type Situations = ReadonlyMap<Situation, number>

export const noSituations: Situations = new Map<Situation, number>([
  ...otherSituations.map((name) => [name, 0] as const),
  ...(Object.keys(writes) as Write[]).map((write) => [`faults on ${write} writes`, 0] as const),
])

export function countSituations(facts: Facts, world: World): Situations {
  const { faultCounts, clockJumps, forgotten } = world
  return new Map<Situation, number>([
    ...noSituations,
    ['events of one pull request in the same second', countSameSecond(facts)],
    ['commits at the head of two pull requests', countSharedHeads(world)],
    ['names found to be the same repository', countAudit(facts, 'repository.merged')],
    ['worlds with several App installations', countInstallations(world) > 1 ? 1 : 0],
    ['restores of an older database', forgotten === null ? 0 : 1],
    ['purged runs', countAudit(facts, 'run.purged')],
    ['clock changes', clockJumps.length],
    [
      'pauses longer than a lease',
      (faultCounts.get('long pause') ?? 0) + (faultCounts.get('all nodes down') ?? 0),
    ],
    ['workers with a backlog', faultCounts.get('worker backlog') ?? 0],
    ['worlds whose nodes execute runs', world.work === null ? 0 : 1],
    ['steps in doubt that were done again', countAudit(facts, 'step.taken_over')],
    ['steps confirmed after a doubt', countAudit(facts, 'step.confirmed')],
    ['steps held for a person', countAudit(facts, 'step.held')],
    ['late results of steps', countAudit(facts, 'step.late')],
    [
      'effects whose process had died',
      world.work?.effects.effects.filter(({ wasDead }) => wasDead).length ?? 0,
    ],
    ['wake-ups lost', faultCounts.get('wake-up lost') ?? 0],
    ...countFaultsOnWrites(world),
  ])
}

const countAudit = ({ audit }: Facts, wanted: string): number =>
  audit.filter(({ type }) => type === wanted).length

/** Events of one pull request with equal times: GitHub's times have whole seconds. */
function countSameSecond({ inbox }: Facts): number {
  const eventsAt = new Map<string, Set<unknown>>()
  for (const { lane, event_at: at, event_key: key } of inbox) {
    if (lane === null || at === null) continue
    const moment = `${lane} ${at}`
    eventsAt.set(moment, (eventsAt.get(moment) ?? new Set()).add(key))
  }
  return [...eventsAt.values()].filter(({ size }) => size > 1).length
}

function countSharedHeads({ pulls }: World): number {
  const heads = pulls.flatMap((pull) => [...new Set(pull.heads)].map((sha) => ({ sha, pull })))
  const shared = heads.filter(({ sha, pull }) =>
    heads.some((other) => other.sha === sha && other.pull !== pull),
  )
  return new Set(shared.map(({ sha }) => sha)).size
}

function countInstallations({ github }: World): number {
  const ids = github.requests.flatMap(({ path, status }) => {
    const [, id] = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(path) ?? []
    return id === undefined || status !== 201 ? [] : [id]
  })
  return new Set(ids).size
}

function countFaultsOnWrites({ github }: World): (readonly [Situation, number])[] {
  const faulty = github.requests.filter(({ fault }) => fault !== null)
  return (Object.keys(writes) as Write[]).map((write) => {
    const count = faulty.filter(({ method, path }) =>
      writes[write].test(`${method} ${path}`),
    ).length
    return [`faults on ${write} writes`, count] as const
  })
}
