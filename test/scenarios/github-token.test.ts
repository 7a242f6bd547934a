/**
 * Goal: a worker reads a private repository with nothing but its run token, and a run that was
 * superseded gets no GitHub token any more.
 * Method: a real server, and a simulated GitHub with an App over real HTTP.
 */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { sha } from './client.ts'
import { ScenarioGitHub } from './scenario-github.ts'
import { databases } from './server-data.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }) as string
const hidden = 'acme/hidden'
const config = `export default { runs: { review: { permissions: { pull_requests: 'read' } } } }`

let world: ScenarioGitHub
afterEach(() => world.close())

describe.each(databases)('on $name', ({ makeData }) => {
  it('the holder of a run reads what its type allows, until it loses the run', async () => {
    const app = { id: 7, slug: 'holdfast', privateKey: pem }
    const env = { GITHUB_APP_ID: '7', GITHUB_PRIVATE_KEY: pem }
    world = await ScenarioGitHub.open(await makeData(), { app }, env)
    world.github.addRepository(hidden, { private: true })
    world.github.addPull(hidden, { number: 5, headSha: sha('a'), baseSha: sha('main') })
    writeFileSync(join(world.serverData.folder, 'holdfast.config.ts'), config)
    const server = await world.start()
    const claim = { repo: hidden, pr: 5, base_sha: sha('main') }
    const { body: held } = await server.admin.claim({ ...claim, head_sha: sha('a') })
    const worker = server.as(held.run_token)
    const path = `/v1/runs/${held.run.id}/github-token`
    const { status, body } = await worker.post(path, {})
    const made = body as unknown as Readonly<Record<string, unknown>>
    expect([status, made['repositories'], made['permissions']]).toEqual([
      200,
      [hidden],
      { metadata: 'read', pull_requests: 'read' },
    ])
    const authorization = `Bearer ${String(made['token'])}`
    const read = (what: string) =>
      fetch(`${world.url}/repos/${hidden}/${what}`, { headers: { authorization } })
    expect((await read('pulls/5')).status).toBe(200)
    expect((await read(`commits/${sha('a')}/statuses`)).status).toBe(403)

    await server.admin.claim({ ...claim, head_sha: sha('b') })
    expect(await worker.post(path, {})).toMatchObject({
      status: 409,
      body: { code: 'superseded' },
    })
    const audit = await server.admin.get(`/v1/runs/${held.run.id}/audit`)
    expect(JSON.stringify(audit.body)).toContain('run.github_token_issued')
    expect(JSON.stringify(audit.body)).not.toContain('ghs_')
  })
})
