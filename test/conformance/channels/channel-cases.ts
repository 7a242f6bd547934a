/**
 * What the suite needs to know about each channel: two contents, and where to see them on GitHub.
 */
import { type ChannelName } from '../../../src/channels/github-channels.ts'
import type { CheckContent } from '../../../src/channels/github-check.ts'
import type { CommentContent } from '../../../src/channels/github-comment.ts'
import type { LabelContent } from '../../../src/channels/github-label.ts'
import type { ReviewContent } from '../../../src/channels/github-review.ts'
import type { StatusContent } from '../../../src/channels/github-status.ts'
import type { Fault, GitHubSimulator } from '../../../src/simulator/index.ts'
import { ChannelWorld, repo, sha, thread, type Identity, type Way } from './channel-world.ts'
import { limitSeconds, type ChannelFault, type ChannelUnderTest } from './channel.suite.ts'

export interface ChannelCase {
  readonly name: ChannelName
  readonly identities: readonly Identity[]
  readonly first: unknown
  readonly second: unknown
  /** Invalid content for this channel. */
  readonly wrong: unknown
  /** What a second write does: it edits the first output, adds another one, or changes nothing. */
  readonly again: 'edits' | 'adds' | 'nothing'
  /** The route of the request that creates the output. */
  readonly route: string
  /**
   * All outputs of this kind, oldest first: the id as Holdfast records it, and the visible text.
   */
  there(github: GitHubSimulator): { readonly id: string; readonly shows: string }[]
  readonly shows: { readonly first: string; readonly second: string }
}

export const comment = (body: string): CommentContent => ({ form: 'text', body })
export const status = (given: Partial<StatusContent> = {}): StatusContent => ({
  context: 'ci',
  state: 'pending',
  description: 'at work',
  targetUrl: null,
  ...given,
})
export const check = (given: Partial<CheckContent> = {}): CheckContent => ({
  name: 'review',
  status: 'in_progress',
  conclusion: null,
  title: 'At work',
  summary: 'Reading.',
  detailsUrl: null,
  startedAt: null,
  completedAt: null,
  ...given,
})
export const label = (given: Partial<LabelContent> = {}): LabelContent => ({
  label: 'reviewed',
  present: true,
  ...given,
})
export const review = (given: Partial<ReviewContent> = {}): ReviewContent => ({
  body: 'One remark.',
  event: 'COMMENT',
  commitSha: null,
  comments: [],
  ...given,
})

const both: readonly Identity[] = ['app', 'user']
/** The part of a body that people see. */
const visible = (body: string) => body.replaceAll(/<!--.*?-->/gs, '').trim()

export const channelCases: readonly ChannelCase[] = [
  {
    name: 'github-comment',
    identities: both,
    first: comment('Hello'),
    second: comment('Hello again'),
    wrong: { form: 'text', body: 7 },
    again: 'edits',
    route: 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments',
    there: (github) =>
      github.comments(repo, thread).map(({ id, body }) => ({ id: `${id}`, shows: visible(body) })),
    shows: { first: 'Hello', second: 'Hello again' },
  },
  {
    name: 'github-status',
    identities: both,
    first: status(),
    second: status({ state: 'success' }),
    wrong: { context: 'ci', state: 'green' },
    again: 'adds',
    route: 'POST /repos/{owner}/{repo}/statuses/{sha}',
    there: (github) =>
      github.statuses(repo, sha).map(({ id, state }) => ({ id: `${id}`, shows: state })),
    shows: { first: 'pending', second: 'success' },
  },
  {
    name: 'github-check',
    identities: ['app'],
    first: check(),
    second: check({ status: 'completed', conclusion: 'failure' }),
    wrong: { name: '' },
    again: 'edits',
    route: 'POST /repos/{owner}/{repo}/check-runs',
    there: (github) =>
      github
        .checkRuns(repo, sha)
        .map(({ id, status, conclusion }) => ({ id: `${id}`, shows: conclusion ?? status })),
    shows: { first: 'in_progress', second: 'failure' },
  },
  {
    name: 'github-label',
    identities: both,
    first: label(),
    second: label(),
    wrong: { label: '..', present: false },
    again: 'nothing',
    route: 'POST /repos/{owner}/{repo}/issues/{issue_number}/labels',
    there: (github) => github.labels(repo, thread).map((name) => ({ id: name, shows: name })),
    shows: { first: 'reviewed', second: 'reviewed' },
  },
  {
    name: 'github-review',
    identities: both,
    first: review(),
    second: review({ body: 'Two remarks.' }),
    wrong: { body: 'x', event: 'SHOUT' },
    again: 'edits',
    route: 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
    there: (github) =>
      github.reviews(repo, thread).map(({ id, body }) => ({ id: `${id}`, shows: visible(body) })),
    shows: { first: 'One remark.', second: 'Two remarks.' },
  },
]

const faultsOf = ({ faults }: GitHubSimulator): Readonly<Record<ChannelFault, () => Fault>> => ({
  lostAnswer: () => faults.lostAnswer(),
  badGateway: () => faults.badGateway(),
  brokenJson: () => faults.brokenJson(),
  lostRequest: () => faults.reset(),
  limit: () => faults.secondaryLimit({ retryAfterSeconds: limitSeconds }),
  refusal: () => faults.refuse(403),
})

export function faultOf(github: GitHubSimulator, fault: ChannelFault): Fault {
  return faultsOf(github)[fault]()
}

/** A channel to GitHub, in the form that the suite for any channel needs. */
export function asAnyChannel(the: ChannelCase, identity: Identity, way: Way): ChannelUnderTest {
  return {
    title: `${the.name} as ${identity}, ${way}`,
    first: the.first,
    second: the.second,
    wrong: the.wrong,
    shows: the.shows,
    async open() {
      const world = await ChannelWorld.open(identity, { way })
      const { github, clock } = world
      return {
        channel: world.channel(the.name),
        clock,
        target: (given = {}) => world.target(given),
        there: () => the.there(github),
        writes: () => github.count(the.route),
        asked: () => github.requests.length,
        play: (fault) =>
          void github.faults.add({ on: { route: the.route }, fault: faultOf(github, fault) }),
        close: () => world.close(),
      }
    },
  }
}
