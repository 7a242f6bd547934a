// Goal: the sandbox shows repositories by their names, also if they are addressed by id.
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ManualClock } from '../test/github/github-under-test.ts'
import { HeldRun } from '../test/github/run-client-under-test.ts'
import { runClient } from './github/run-client.ts'
import { openSandbox } from './sandbox.ts'
import { systemScheduler } from './scheduler.ts'
import { seededChance } from '../test/seed.ts'

const say = (): void => undefined
const log = { debug: say, info: say, warn: say, error: say }
const page = z.object({ html_url: z.string() })

function sandbox() {
  const clock = new ManualClock()
  const machine = { clock, random: seededChance(), scheduler: systemScheduler }
  const github = openSandbox({ ...machine, log, version: '0' })
  /** Where the comment is shown. */
  const comment = async (repo: string, repoGithubId: number | null): Promise<string> => {
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
    const comment = { issue_number: 5, body: 'Hello.' }
    const { data } = await github.call({ repo, repoGithubId }, page, route, comment, 1000)
    return data.html_url.replace(/#.*/, '')
  }
  return { github, comment, clock }
}

it('a repository that is addressed by id is shown by its name', async () => {
  const { comment } = sandbox()
  expect(await comment('acme/widgets', 77)).toMatch(/\/acme\/widgets\/pull\/5$/)
  expect(await comment('acme/widgets', 77)).toMatch(/\/acme\/widgets\/pull\/5$/)
})

it('a repository that was renamed is shown by its new name', async () => {
  const { comment } = sandbox()
  await comment('acme/widgets', 77)
  expect(await comment('acme/gadgets', 77)).toMatch(/\/acme\/gadgets\/pull\/5$/)
})

it('a name that another repository has taken shows that repository', async () => {
  const { github, comment } = sandbox()
  const { githubId } = await github.repositoryNamed('acme/widgets')
  expect(await comment('acme/widgets', githubId)).toMatch(/\/acme\/widgets\/pull\/5$/)
  expect(await comment('acme/widgets', 78)).toMatch(/\/acme\/widgets\/pull\/5$/)
  expect(await github.repositoryNamed('Acme/Widgets')).toMatchObject({ githubId: 78 })
  expect(await comment('acme/moved', githubId)).toMatch(/\/acme\/moved\/pull\/5$/)
})

it('the first id that a caller gives is accepted, because everything exists here', async () => {
  const { github } = sandbox()
  await github.repositoryNamed('acme/widgets')
  expect(await github.repositoryNamed('acme/widgets', 79)).toMatchObject({ githubId: 79 })
  expect(await github.repositoryNamed('acme/widgets', 80)).toMatchObject({ githubId: 79 })
})

it('the GitHub client of a run is in the same repository as the publisher', async () => {
  const { github, comment, clock } = sandbox()
  const octokit = await runClient({
    connection: github,
    repository: { repo: 'acme/widgets', repoGithubId: 77 },
    type: 'review',
    permissions: { issues: 'read' },
    clock,
    ...new HeldRun().options,
  })
  const thread = { owner: 'acme', repo: 'widgets', issue_number: 5 }
  await octokit.rest.issues.createComment({ ...thread, body: 'First.' })
  await comment('acme/widgets', 77)
  const { data } = await octokit.rest.issues.listComments(thread)
  expect(data.map(({ body }) => body)).toEqual(['First.', 'Hello.'])
})
